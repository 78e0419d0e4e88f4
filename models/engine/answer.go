package engine

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"

	"mcp-toolset/internal/text/strictjson"
	"mcp-toolset/models"
)

// answer collects an answer from the parts of a stream.
type answer struct {
	parts []*part
	size  int // bytes of content
	uses  int
	stop  models.Stop // "" until it is known
	usage models.Usage
}

// part is a block while it arrives.
type part struct {
	text     strings.Builder // a text, or the input of a use
	use      bool
	id, name string
}

// maxName is the limit of the name and the id of a use, in bytes. Those of APIs are shorter.
const maxName = 256

// call adds to the id and the name of a use.
func (p *part) call(id, name string) {
	if len(p.id) == 0 && len(id) <= maxName {
		p.id = id
	}
	if len(p.name)+len(name) <= maxName {
		p.name += name
	}
}

// begin adds a part.
func (a *answer) begin(use bool) *part {
	p := &part{use: use}
	if use {
		a.uses++
	}
	a.parts = append(a.parts, p)
	return p
}

// add appends text to a part.
func (a *answer) add(p *part, text string) {
	a.size += len(text)
	p.text.WriteString(text)
}

// tooLarge returns the error for an answer over the limits, or nil.
func (a *answer) tooLarge(e models.Endpoint) error {
	switch {
	case a.size > maxAnswer:
		return tooLarge(e, fmt.Sprintf("%d MB", maxAnswer>>20))
	case a.uses > maxUses:
		return tooLarge(e, fmt.Sprintf("%d tool uses", maxUses))
	case len(a.parts) > maxUses*16: // parts without content
		return tooLarge(e, fmt.Sprintf("%d blocks", maxUses*16))
	}
	return nil
}

// partial returns what an answer that has failed holds, or nil if nothing has arrived.
func (a *answer) partial() *models.Response {
	if len(a.parts) == 0 && a.usage.Total() == 0 {
		return nil
	}
	a.stop = ""
	return a.response()
}

// response returns the answer. It has the uses only if the model has stopped for them: those of an
// answer that was cut are not complete.
func (a *answer) response() *models.Response {
	r := &models.Response{Stop: a.stop, Usage: a.usage}
	ids, uses := map[string]bool{}, 0
	for _, p := range a.parts {
		switch text := p.text.String(); {
		case p.use && a.stop == models.StopTools:
			u := &models.Use{ID: p.id, Name: p.name}
			if u.ID == "" || ids[u.ID] {
				u.ID = "call_" + rand.Text()[:16]
			}
			ids[u.ID] = true
			u.Input, u.Malformed = input(text)
			r.Blocks = append(r.Blocks, models.Block{Use: u})
			uses++
		case !p.use && text != "":
			r.Blocks = append(r.Blocks, models.Block{Text: text})
		}
	}
	if r.Stop == models.StopTools && uses == 0 {
		r.Stop = models.StopEnd
	}
	return r
}

// input returns the input of a use. No text means no arguments.
func input(text string) (json.RawMessage, string) {
	if strings.TrimSpace(text) == "" {
		return json.RawMessage("{}"), ""
	}
	if _, err := strictjson.Fields([]byte(text)); err != nil {
		return json.RawMessage("{}"), "the input is malformed: " + err.Error()
	}
	return json.RawMessage(text), ""
}
