package approval

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"mcp-toolset/internal/consent/question"
	"mcp-toolset/internal/consent/socket"
)

// answerWithin is the timeout for a server to send something. It covers the
// time in which a server sends long answers to others, or in which a busy
// machine does not run it.
const answerWithin = 10 * time.Second

// ErrNoServer reports that no running server has an approval to wait for, or had the one asked for.
var ErrNoServer = errors.New("nothing is waiting: the server that asked has ended, or its request has expired; let the model send the call again")

// Overview holds the approvals and declines of all servers of a user.
type Overview struct {
	Servers  int // number of servers that answered
	Items    []Item
	Declined []Refusal
	Silent   []string // running servers that did not answer, with the reason
}

// remote is a server that has answered.
type remote struct {
	folder string
	answer answer
}

// List returns the approvals of all servers of a state folder. A number other
// than 0 selects one.
func List(ctx context.Context, stateFolder string, number int) (Overview, error) {
	remotes, silent, err := askAll(ctx, stateFolder, command{Do: doList, Number: number})
	if err != nil {
		return Overview{}, err
	}
	o := Overview{Servers: len(remotes), Silent: silent}
	for _, r := range remotes {
		o.Items = append(o.Items, r.answer.Items...)
		o.Declined = append(o.Declined, r.answer.Declined...)
	}
	slices.SortFunc(o.Items, func(a, b Item) int { return a.Number - b.Number })
	slices.SortFunc(o.Declined, func(a, b Refusal) int { return a.Number - b.Number })
	if number != 0 && len(o.Items) == 0 {
		return o, noApproval(number, remotes, silent)
	}
	return o, nil
}

// Approve grants a pending approval for one run, or always as well, and returns
// the approval.
func Approve(ctx context.Context, stateFolder string, number int, always bool) (Item, error) {
	return decide(ctx, stateFolder, command{Do: doApprove, Number: number, Always: always})
}

// Reply answers questions that wait for the user. It reads the reply with read, from the
// questions.
func Reply(ctx context.Context, stateFolder string, number int, read func([]question.Question) (question.Reply, error)) (Item, error) {
	return decideOn(ctx, stateFolder, number, func(i Item) (command, error) {
		if i.Questions == nil || i.Approved {
			return command{Do: doReply, Number: number}, nil // the server answers with the reason
		}
		reply, err := read(i.Questions)
		return command{Do: doReply, Number: number, Reply: reply}, err
	})
}

// Deny declines a pending approval, or revokes a granted one that was not used.
// The model gets the reason, which may be "". It returns the approval.
func Deny(ctx context.Context, stateFolder string, number int, reason string) (Item, error) {
	return decide(ctx, stateFolder, command{Do: doDeny, Number: number, Reason: reason})
}

// decide finds the one server that holds the number, and sends it the decision.
func decide(ctx context.Context, stateFolder string, q command) (Item, error) {
	return decideOn(ctx, stateFolder, q.Number, func(Item) (command, error) { return q, nil })
}

// decideOn is like decide, with a decision that depends on the item.
func decideOn(ctx context.Context, stateFolder string, number int, decision func(Item) (command, error)) (Item, error) {
	remotes, silent, err := askAll(ctx, stateFolder, command{Do: doList, Number: number})
	if err != nil {
		return Item{}, err
	}
	having := slices.DeleteFunc(slices.Clone(remotes), func(r remote) bool { return len(r.answer.Items) == 0 })
	switch len(having) {
	case 0:
		return Item{}, noApproval(number, remotes, silent)
	case 1:
	default:
		return Item{}, fmt.Errorf("%d servers have an approval %d; stop one of them", len(having), number)
	}
	q, err := decision(having[0].answer.Items[0])
	if err != nil {
		return Item{}, err
	}
	a, err := ask(ctx, having[0].folder, q)
	if err == nil && a.Refused != "" {
		err = errors.New(a.Refused)
	}
	return having[0].answer.Items[0], err
}

// Lift removes the refusal with this number, and returns it.
func Lift(ctx context.Context, stateFolder string, number int) (Refusal, error) {
	remotes, _, err := askAll(ctx, stateFolder, command{Do: doList, Number: number})
	if err != nil {
		return Refusal{}, err
	}
	for _, r := range remotes {
		if len(r.answer.Declined) == 0 {
			continue
		}
		a, err := ask(ctx, r.folder, command{Do: doLift, Number: number})
		if err == nil && a.Refused != "" {
			err = errors.New(a.Refused)
		}
		return r.answer.Declined[0], err
	}
	return Refusal{}, fmt.Errorf("nothing was declined by number %d; `mcp-toolset approvals` has the numbers", number)
}

// noApproval returns the error for a number without an approval. It lists the
// numbers that exist.
func noApproval(number int, remotes []remote, silent []string) error {
	if len(remotes) == 0 && len(silent) == 0 {
		return ErrNoServer
	}
	fact := fmt.Sprintf("there is no approval %d", number)
	var pending []int
	known := false
	for _, r := range remotes {
		if r.answer.Fate != "" {
			known = true
			fact = fmt.Sprintf("approval %d %s", number, r.answer.Fate)
		}
		pending = append(pending, r.answer.Pending...)
	}
	slices.Sort(pending)
	switch {
	case len(silent) > 0:
		return fmt.Errorf("%s where an answer came from; %s", fact, strings.Join(silent, "; "))
	case len(pending) == 0 && !known:
		return ErrNoServer
	case len(pending) == 0:
		return fmt.Errorf("%s; none is pending", fact)
	}
	return fmt.Errorf("%s; pending: %s", fact, strings.Trim(strings.ReplaceAll(fmt.Sprint(pending), " ", ", "), "[]"))
}

// askAll sends a command to all running servers in parallel. If one refuses,
// it returns an error, because all would refuse.
func askAll(ctx context.Context, stateFolder string, q command) (remotes []remote, silent []string, err error) {
	if !socket.Offered() {
		return nil, nil, socket.ErrNotOffered
	}
	folders, err := socket.Servers(stateFolder)
	if err != nil {
		return nil, nil, err
	}
	answers, errs := make([]remote, len(folders)), make([]error, len(folders))
	var wg sync.WaitGroup
	for i, folder := range folders {
		wg.Go(func() {
			answers[i].folder = folder
			answers[i].answer, errs[i] = ask(ctx, folder, q)
		})
	}
	wg.Wait()
	for i, folder := range folders {
		switch {
		case errs[i] == nil && answers[i].answer.Refused != "":
			return nil, nil, errors.New(answers[i].answer.Refused)
		case errs[i] == nil:
			remotes = append(remotes, answers[i])
		case errors.Is(errs[i], fs.ErrNotExist) || errors.Is(errs[i], syscall.ECONNREFUSED): // the server was killed or has just ended
		default:
			silent = append(silent, fmt.Sprintf("the server of %s does not answer: %v", folder, errs[i]))
		}
	}
	return remotes, silent, nil
}

// ask sends a command to one server and returns its answer.
func ask(ctx context.Context, folder string, q command) (answer, error) {
	dialing, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	conn, err := socket.Dial(dialing, folder)
	if err != nil {
		return answer{}, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	data, err := json.Marshal(q)
	if err != nil {
		return answer{}, err
	}
	// A peer that is refused may find the connection closed. The answer can
	// still be read.
	_ = conn.SetWriteDeadline(time.Now().Add(answerWithin))
	_, writeErr := conn.Write(append(data, '\n'))
	a, err := readAnswer(timeoutReader{ctx, conn}, maxAnswer)
	if err != nil {
		return answer{}, errors.Join(err, writeErr)
	}
	return a, nil
}

// timeoutReader reads from a server, with a timeout for each read.
type timeoutReader struct {
	ctx  context.Context
	conn socket.Conn
}

func (p timeoutReader) Read(b []byte) (int, error) {
	_ = p.conn.SetReadDeadline(time.Now().Add(answerWithin))
	if p.ctx.Err() != nil { // its deadline was overwritten just now
		return 0, context.Cause(p.ctx)
	}
	return p.conn.Read(b)
}
