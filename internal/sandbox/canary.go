package sandbox

// Canary is one thing that was tried in a confined process.
type Canary struct {
	Promise string // its name, as Coverage.Missing uses it; "work" for what has to go on working
	Meaning string
	Held    bool   // it was refused; of "work", it was done
	Detail  string // what happened
}

// Targets is what canaries try to reach: made by the server outside of what a
// policy allows, tried by the confined process. Plain data.
type Targets struct {
	// Elsewhere is a folder in which this user may make files, that no policy
	// covers or lets commands write to, such as the home folder; "": none.
	Elsewhere string
	Outside   string // a folder with a file and a socket
	Inside    string // a folder with files "protected", "hidden" and "free"
	TCP, UDP  string // addresses that listen
	Abstract  string // the name of an abstract socket that listens
	PID       int    // the server
	Memory    int    // a System V segment, -1 for none
	Terminal  string // a terminal of the server's, "" for none
	Server    Namespaces
}

// Socket is the path of the socket outside.
func (t Targets) Socket() string { return t.Outside + "/socket" }

// promiseWork is what has to go on working under a policy.
const promiseWork = "work"

// Policy adds to a policy what the targets need: that Inside is one of its
// writable folders, with one name protected and one hidden.
func (t Targets) Policy(p Policy) Policy {
	p.Write = append(append([]string{}, p.Write...), t.Inside)
	p.Protect = append(append([]string{}, p.Protect...), t.Inside+"/protected")
	p.Hide = append(append([]string{}, p.Hide...), t.Inside+"/hidden")
	return p
}
