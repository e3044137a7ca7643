package role
import ("testing";"fmt")
func TestSmoke(t *testing.T){
 l:=Builtin()
 for _,f:=range l.Findings(){fmt.Println(f)}
 for _,e:=range l.Entries(){ fmt.Println(e.Name,e.Source,e.Role!=nil,e.Broken); if e.Role!=nil{fmt.Println(e.Role.Hash, e.Role.Kind, len(e.Role.Instructions))}}
 r,_:=l.Get("fix"); fmt.Println(r.YAML(true)); s,_:=r.Render(nil); fmt.Println(s)
}
