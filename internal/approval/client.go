package approval

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// answerWithin is how long a server may say nothing: while others are served
// that ask for what is long, or while a busy machine has no time for it.
const answerWithin = 10 * time.Second

// ErrNoServer says that no server that runs waits for approvals, or ever did.
var ErrNoServer = errors.New("nothing is waiting for approval")

// Overview is what all servers of a user wait for and were told.
type Overview struct {
	Servers  int // that answered
	Items    []Item
	Declined []Refusal
	Silent   []string // folders of servers that run and did not answer, and why
}

// remote is a server that was asked.
type remote struct {
	socket string
	answer answer
}

// List asks all servers of a state folder. number is 0 for all.
func List(ctx context.Context, stateFolder string, number int) (Overview, error) {
	remotes, silent, err := askAll(ctx, stateFolder, question{Do: doList, Number: number})
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

// Approve grants a pending approval for one run, or for always as well, and
// returns what it was.
func Approve(ctx context.Context, stateFolder string, number int, always bool) (Item, error) {
	return decide(ctx, stateFolder, question{Do: doApprove, Number: number, Always: always})
}

// Deny declines a pending approval, or takes back one that was not used.
func Deny(ctx context.Context, stateFolder string, number int) (Item, error) {
	return decide(ctx, stateFolder, question{Do: doDeny, Number: number})
}

// decide asks for the one server that has the number, and tells it.
func decide(ctx context.Context, stateFolder string, q question) (Item, error) {
	remotes, silent, err := askAll(ctx, stateFolder, question{Do: doList, Number: q.Number})
	if err != nil {
		return Item{}, err
	}
	having := slices.DeleteFunc(slices.Clone(remotes), func(r remote) bool { return len(r.answer.Items) == 0 })
	switch len(having) {
	case 0:
		return Item{}, noApproval(q.Number, remotes, silent)
	case 1:
	default:
		return Item{}, fmt.Errorf("%d servers have an approval %d; stop one of them", len(having), q.Number)
	}
	a, err := ask(ctx, having[0].socket, q)
	if err == nil && a.Refused != "" {
		err = errors.New(a.Refused)
	}
	return having[0].answer.Items[0], err
}

// Lift forgets what conversations were declined by a number.
func Lift(ctx context.Context, stateFolder string, number int) (Refusal, error) {
	remotes, _, err := askAll(ctx, stateFolder, question{Do: doList, Number: number})
	if err != nil {
		return Refusal{}, err
	}
	for _, r := range remotes {
		if len(r.answer.Declined) == 0 {
			continue
		}
		a, err := ask(ctx, r.socket, question{Do: doLift, Number: number})
		if err == nil && a.Refused != "" {
			err = errors.New(a.Refused)
		}
		return r.answer.Declined[0], err
	}
	return Refusal{}, fmt.Errorf("nothing was declined by number %d; `mcp-toolset approvals` has the numbers", number)
}

// noApproval says why there is nothing to decide on, and what there is.
func noApproval(number int, remotes []remote, silent []string) error {
	if len(remotes) == 0 && len(silent) == 0 {
		return ErrNoServer
	}
	fact := fmt.Sprintf("there is no approval %d", number)
	var pending []int
	for _, r := range remotes {
		if r.answer.Fate != "" {
			fact = fmt.Sprintf("approval %d %s", number, r.answer.Fate)
		}
		pending = append(pending, r.answer.Pending...)
	}
	slices.Sort(pending)
	switch {
	case len(silent) > 0:
		return fmt.Errorf("%s where an answer came from; %s", fact, strings.Join(silent, "; "))
	case len(pending) == 0:
		return fmt.Errorf("%s; none is pending", fact)
	}
	return fmt.Errorf("%s; pending: %s", fact, strings.Trim(strings.ReplaceAll(fmt.Sprint(pending), " ", ", "), "[]"))
}

// askAll asks all servers that run, at once. A server that refuses is an error,
// since all would.
func askAll(ctx context.Context, stateFolder string, q question) (remotes []remote, silent []string, err error) {
	if !offered {
		return nil, nil, errNotOffered
	}
	folders, err := serverFolders(folderOf(stateFolder))
	if err != nil {
		return nil, nil, err
	}
	answers, errs := make([]remote, len(folders)), make([]error, len(folders))
	var wg sync.WaitGroup
	for i, folder := range folders {
		wg.Go(func() {
			answers[i].socket, errs[i] = socketOf(folder)
			if errs[i] == nil {
				answers[i].answer, errs[i] = ask(ctx, answers[i].socket, q)
			}
		})
	}
	wg.Wait()
	for i, folder := range folders {
		switch {
		case errs[i] == nil && answers[i].answer.Refused != "":
			return nil, nil, errors.New(answers[i].answer.Refused)
		case errs[i] == nil:
			remotes = append(remotes, answers[i])
		case errors.Is(errs[i], fs.ErrNotExist) || errors.Is(errs[i], syscall.ECONNREFUSED): // it was killed, or has just ended
		default:
			silent = append(silent, fmt.Sprintf("the server of %s does not answer: %v", folder, errs[i]))
		}
	}
	return remotes, silent, nil
}

// serverFolders are the folders of servers, dead ones among them. None is no
// error; one that others can write to is.
func serverFolders(folder string) ([]string, error) {
	info, err := os.Lstat(folder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("looking for servers: %w", err)
	case !private(info):
		return nil, fmt.Errorf("looking for servers: %s is not a private folder of this user", folder)
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("looking for servers: %w", err)
	}
	var out []string
	for _, e := range entries {
		if e.IsDir() && len(e.Name()) == nameLength {
			out = append(out, filepath.Join(folder, e.Name()))
		}
	}
	return out, nil
}

// ask asks one server.
func ask(ctx context.Context, socket string, q question) (answer, error) {
	dialing, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	conn, err := dial(dialing, socket)
	if err != nil {
		return answer{}, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	data, err := json.Marshal(q)
	if err != nil {
		return answer{}, err
	}
	// Who is refused may find the connection closed already; the answer is there.
	_ = conn.SetWriteDeadline(time.Now().Add(answerWithin))
	_, writeErr := conn.Write(append(data, '\n'))
	a, err := readAnswer(patient{ctx, conn}, maxAnswer)
	if err != nil {
		return answer{}, errors.Join(err, writeErr)
	}
	return a, nil
}

// patient reads from a server as long as something comes.
type patient struct {
	ctx  context.Context
	conn conn
}

func (p patient) Read(b []byte) (int, error) {
	_ = p.conn.SetReadDeadline(time.Now().Add(answerWithin))
	if p.ctx.Err() != nil { // and its deadline has just been overwritten
		return 0, context.Cause(p.ctx)
	}
	return p.conn.Read(b)
}
