package sandbox

import "slices"

// Canary is the result of one attempt in a confined process.
type Canary struct {
	Promise string // name as in Coverage.Missing; "work" for operations that must succeed
	Meaning string
	Held    bool   // whether the attempt was refused; for "work", whether it succeeded
	Detail  string // what happened
}

// Targets holds what canaries try to access. The server makes it outside of what a
// policy allows; the confined process tries it. It is plain data.
type Targets struct {
	// Elsewhere is a folder in which this user may make files and which no policy
	// grants or masks, such as the home folder; "": none.
	Elsewhere string
	Outside   string // a folder with a file and a socket
	Inside    string // a folder with files "protected", "hidden", "free" and "folder/hidden"
	TCP, UDP  string // addresses with a listener; the one of UDP returns datagrams to their senders
	Abstract  string // name of an abstract socket with a listener
	PID       int    // process id of the server
	Memory    int    // id of a System V segment; -1: none
	Terminal  string // path of a terminal of the server; "": none
	Server    Namespaces
}

// Socket returns the path of the socket in Outside.
func (t Targets) Socket() string { return t.Outside + "/s" }

// deep returns the path of a hidden file in a folder of its own, which could be moved.
func (t Targets) deep() string { return t.Inside + "/folder/hidden" }

// NoNetwork returns the result for a command that cannot have a network of its own.
func NoNetwork(reason error) Canary {
	i := slices.IndexFunc(promises, func(p promise) bool { return p.name == promiseNetwork })
	return Canary{Promise: promiseNetwork, Meaning: promises[i].meaning, Detail: reason.Error()}
}

// promiseWork is the name of the operations that must succeed under a policy.
const promiseWork = "work"

// Policy adds to a policy what the targets need: Inside becomes a writable folder
// with one protected and two hidden names.
func (t Targets) Policy(p Policy) Policy {
	p.Write = append(append([]string{}, p.Write...), t.Inside)
	p.Protect = append(append([]string{}, p.Protect...), t.Inside+"/protected")
	p.Hide = append(append([]string{}, p.Hide...), t.Inside+"/hidden", t.deep())
	return p
}
