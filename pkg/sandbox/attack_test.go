package sandbox

func attack(string, []string) {}
