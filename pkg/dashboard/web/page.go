package web

import (
	"embed"
	"net/http"
	"path"
)

//go:embed page
var files embed.FS

// page serves the few files of the page itself.
func (o Options) page(w http.ResponseWriter, r *http.Request) (any, error) {
	name := "page/index.html"
	if r.URL.Path != "/" {
		name = "page/" + path.Base(r.URL.Path)
	}
	data, err := files.ReadFile(name)
	if err != nil {
		return nil, notFound("file", r.URL.Path)
	}
	kinds := map[string]string{".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
	w.Header().Set("Content-Type", kinds[path.Ext(name)]+"; charset=utf-8")
	_, _ = w.Write(data)
	return nil, nil
}
