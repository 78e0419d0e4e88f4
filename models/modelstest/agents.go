package modelstest

import (
	"fmt"
	"strings"
)

// The streams below are those of APIs that only agent clients use. They have what the clients
// read.

// responsesStream returns an answer as the documentation of the Responses API has it. A name of a
// tool with a slash has its namespace before it.
func responsesStream(r Reply) string {
	var items []string
	if r.Text != "" {
		items = append(items, fmt.Sprintf(`{"type":"message","role":"assistant","id":"msg_1","content":[{"type":"output_text","text":%s,"annotations":[]}]}`, quote(r.Text)))
	}
	for _, u := range r.Uses {
		space, name, found := strings.Cut(u.Name, "/")
		if !found {
			space, name = "", u.Name
		} else {
			space = `,"namespace":` + quote(space)
		}
		items = append(items, fmt.Sprintf(`{"type":"function_call","id":%s,"call_id":%s,"name":%s%s,"arguments":%s}`, quote("fc_"+u.ID), quote(u.ID), quote(name), space, quote(string(u.Input))))
	}
	var b strings.Builder
	event := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "event: %s\ndata: {\"type\":%q"+format+"}\n\n", append([]any{name, name}, args...)...)
	}
	event("response.created", `,"response":{"id":"resp_1"}`)
	for i, item := range items {
		event("response.output_item.added", `,"output_index":%d,"item":%s`, i, item)
		event("response.output_item.done", `,"output_index":%d,"item":%s`, i, item)
	}
	event("response.completed", `,"response":{"id":"resp_1","object":"response","status":"completed","output":[%s],"usage":{"input_tokens":%d,"input_tokens_details":{"cached_tokens":0},"output_tokens":%d,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":%d}}`,
		strings.Join(items, ","), r.Usage.Input, r.Usage.Output, r.Usage.Input+r.Usage.Output)
	return b.String()
}

// geminiStream returns an answer as the documentation of streamGenerateContent has it.
func geminiStream(r Reply) string {
	var parts []string
	if r.Text != "" {
		parts = append(parts, `{"text":`+quote(r.Text)+`}`)
	}
	for _, u := range r.Uses {
		parts = append(parts, fmt.Sprintf(`{"functionCall":{"id":%s,"name":%s,"args":%s}}`, quote(u.ID), quote(u.Name), u.Input))
	}
	return fmt.Sprintf("data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[%s]},\"finishReason\":\"STOP\",\"index\":0}],\"usageMetadata\":{\"promptTokenCount\":1,\"candidatesTokenCount\":1,\"totalTokenCount\":2},\"modelVersion\":\"m\",\"responseId\":\"r\"}\n\n",
		strings.Join(parts, ","))
}
