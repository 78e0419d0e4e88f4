package notebook

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// beef returns the source of the ids of new cells: the first is deadbeef.
func beef() *bytes.Reader { return bytes.NewReader([]byte{0xde, 0xad, 0xbe, 0xef}) }

// v4 and v5 are the keys of a small notebook without its cells.
const (
	v4 = `"nbformat":4,"nbformat_minor":4`
	v5 = `"nbformat":4,"nbformat_minor":5`
)

// TestApply covers the bytes of small notebooks in many forms, before and after an edit.
func TestApply(t *testing.T) {
	for name, tc := range map[string]struct {
		before string
		e      Edit
		want   string
	}{
		"compact": {
			`{"cells":[{"cell_type":"code","execution_count":3,"metadata":{},"outputs":[{"output_type":"stream","text":"x"}],"source":["a\n","b"]}],` + v4 + `}`,
			Edit{CellID: "cell-0", Source: "a\nc\n\nd"},
			`{"cells":[{"cell_type":"code","execution_count":null,"metadata":{},"outputs":[],"source":["a\n","c\n","\n","d"]}],` + v4 + `}`,
		},
		"compact, insert": {
			`{"cells":[{"id":"a","cell_type":"raw","source":["x"]}],` + v5 + `}`,
			Edit{Mode: Insert, CellType: "markdown", Source: "x\r\ny"},
			`{"cells":[{"cell_type":"markdown","id":"deadbeef","metadata":{},"source":["x\r\n","y"]},{"id":"a","cell_type":"raw","source":["x"]}],` + v5 + `}`,
		},
		"no cells": {
			`{"cells":[],` + v4 + `}`,
			Edit{Mode: Insert, CellType: "code", Source: "x"},
			`{"cells":[{"cell_type":"code","execution_count":null,"metadata":{},"outputs":[],"source":["x"]}],` + v4 + `}`,
		},
		"one spaced line": {
			`{"nbformat": 4, "nbformat_minor": 5, "cells": [ { "source" : "a" , "cell_type" : "raw", "id" : "a" } ] }` + "\n\n",
			Edit{Mode: Insert, CellID: "a", CellType: "code", Source: "x\ty\n"},
			`{"nbformat": 4, "nbformat_minor": 5, "cells": [ { "source" : "a" , "cell_type" : "raw", "id" : "a" }, { "cell_type" : "code" , "execution_count" : null , "id" : "deadbeef" , "metadata" : {} , "outputs" : [] , "source" : "x\ty\n" } ] }` + "\n\n",
		},
		"no cells, four spaces, no final newline": {
			"{\n    \"cells\": [\n    ],\n    " + v5 + "\n}",
			Edit{Mode: Insert, CellType: "markdown", Source: "a\nb"},
			"{\n    \"cells\": [\n        {\n            \"cell_type\": \"markdown\",\n            \"id\": \"deadbeef\",\n            \"metadata\": {},\n" +
				"            \"source\": [\n                \"a\\n\",\n                \"b\"\n            ]\n        }\n    ],\n    " + v5 + "\n}",
		},
		"tabs, CRLF, a byte order mark": {
			"\ufeff{\r\n\t\"cells\": [\r\n\t\t{\r\n\t\t\t\"cell_type\": \"markdown\",\r\n\t\t\t\"source\": []\r\n\t\t}\r\n\t],\r\n\t" + v4 + "\r\n}\r\n",
			Edit{CellID: "cell-0", CellType: "code", Source: "x"},
			"\ufeff{\r\n\t\"cells\": [\r\n\t\t{\r\n\t\t\t\"cell_type\": \"code\",\r\n\t\t\t\"execution_count\": null,\r\n\t\t\t\"outputs\": [],\r\n" +
				"\t\t\t\"source\": [\r\n\t\t\t\t\"x\"\r\n\t\t\t]\r\n\t\t}\r\n\t],\r\n\t" + v4 + "\r\n}\r\n",
		},
		"spaces at the ends of lines, as Python 2 left them": {
			"{\n \"cells\": [\n  {\n   \"cell_type\": \"code\", \n   \"source\": [\n    \"a\"\n   ]\n  }\n ], \n " + v4 + "\n}\n",
			Edit{CellID: "cell-0", Source: "a\nb"},
			"{\n \"cells\": [\n  {\n   \"cell_type\": \"code\", \n   \"execution_count\": null, \n   \"outputs\": [], \n   \"source\": [\n    \"a\\n\", \n    \"b\"\n   ]\n  }\n ], \n " + v4 + "\n}\n",
		},
		"a cell on each line": {
			"{\"cells\": [\n{\"cell_type\": \"raw\", \"source\": \"a\"},\n{\"cell_type\": \"raw\", \"source\": \"b\"}\n], " + v4 + "}",
			Edit{Mode: Insert, CellID: "cell-0", CellType: "markdown", Source: "c"},
			"{\"cells\": [\n{\"cell_type\": \"raw\", \"source\": \"a\"},\n{\"cell_type\": \"markdown\", \"metadata\": {}, \"source\": \"c\"},\n{\"cell_type\": \"raw\", \"source\": \"b\"}\n], " + v4 + "}",
		},
		"one cell on a line": {
			"{\"cells\": [\n{\"cell_type\": \"raw\"}\n], " + v4 + "}",
			Edit{Mode: Insert, CellID: "cell-0", CellType: "markdown", Source: "c\nd"},
			"{\"cells\": [\n{\"cell_type\": \"raw\"},\n{\"cell_type\": \"markdown\", \"metadata\": {}, \"source\": [\"c\\n\", \"d\"]}\n], " + v4 + "}",
		},
		"one compact cell on a line": {
			"{\"cells\":[\n{\"cell_type\":\"raw\"}\n]," + v4 + "}",
			Edit{CellID: "cell-0", Source: "c\nd"},
			"{\"cells\":[\n{\"cell_type\":\"raw\",\"source\":[\"c\\n\",\"d\"]}\n]," + v4 + "}",
		},
		"lists with space in their brackets": {
			`{ "cells": [ { "cell_type": "raw" } ], ` + v4 + ` }`,
			Edit{CellID: "cell-0", Source: "c\nd"},
			`{ "cells": [ { "cell_type": "raw", "source": [ "c\n", "d" ] } ], ` + v4 + ` }`,
		},
		"a brace on the last line": {
			"{\n  \"cells\": [{\n    \"cell_type\": \"raw\",\n    \"source\": []}],\n  " + v4 + "}",
			Edit{CellID: "cell-0", Source: "c"},
			"{\n  \"cells\": [{\n    \"cell_type\": \"raw\",\n    \"source\": [\n     \"c\"\n    ]}],\n  " + v4 + "}",
		},
		"cells of two forms, the short one": {
			"{\"cells\": [\n{\"cell_type\": \"raw\", \"source\": []},\n{\n \"cell_type\": \"raw\",\n \"source\": [\n  \"a\",\n  \"b\"\n ]\n}\n], " + v4 + "}",
			Edit{CellID: "cell-0", Source: "c\nd"},
			"{\"cells\": [\n{\"cell_type\": \"raw\", \"source\": [\"c\\n\", \"d\"]},\n{\n \"cell_type\": \"raw\",\n \"source\": [\n  \"a\",\n  \"b\"\n ]\n}\n], " + v4 + "}",
		},
		"short lists on a line, long ones not": {
			"{\"cells\": [\n{\n \"cell_type\": \"raw\",\n \"source\": [\"x\"]\n},\n{\n \"cell_type\": \"raw\",\n \"source\": [\n  \"a\",\n  \"b\"\n ]\n}\n], " + v4 + "}",
			Edit{CellID: "cell-0", Source: "c\nd"},
			"{\"cells\": [\n{\n \"cell_type\": \"raw\",\n \"source\": [\n  \"c\\n\",\n  \"d\"\n ]\n},\n{\n \"cell_type\": \"raw\",\n \"source\": [\n  \"a\",\n  \"b\"\n ]\n}\n], " + v4 + "}",
		},
		"commas first, brackets together": {
			"{ \"cells\": [{ \"cell_type\": \"raw\"\n  , \"source\": \"a\"\n  }]\n, " + v4 + "\n}",
			Edit{CellID: "cell-0", CellType: "code", Source: "b"},
			"{ \"cells\": [{ \"cell_type\": \"code\"\n  , \"execution_count\": null\n  , \"outputs\": []\n  , \"source\": \"b\"\n  }]\n, " + v4 + "\n}",
		},
		"short lists on a line": {
			"{\n  \"cells\": [\n    {\n      \"cell_type\": \"raw\",\n      \"source\": [\"a\"]\n    }\n  ],\n  " + v4 + "\n}",
			Edit{CellID: "cell-0", Source: "b"},
			"{\n  \"cells\": [\n    {\n      \"cell_type\": \"raw\",\n      \"source\": [\"b\"]\n    }\n  ],\n  " + v4 + "\n}",
		},
		"keys of nobody, doubled ones and numbers": {
			`{"x":[NaN,1E400,-0.10,"\/\u00e9é"],"x":{},"cells":[{"zzz":1e0,"source":"a","cell_type":"code","zzz":-Infinity,"outputs":[],"metadata":{"a":1,"a":2}}],` + v4 + `}`,
			Edit{CellID: "cell-0", Source: "ü"},
			`{"x":[NaN,1E400,-0.10,"\/\u00e9é"],"x":{},"cells":[{"zzz":1e0,"source":"ü","cell_type":"code","execution_count":null,"zzz":-Infinity,"outputs":[],"metadata":{"a":1,"a":2}}],` + v4 + `}`,
		},
		"keys in the order of Colab": {
			`{"cells":[{"cell_type":"markdown","source":"a","attachments":{},"metadata":{"id":"x"}}],` + v4 + `}`,
			Edit{CellID: "cell-0", CellType: "code", Source: "a"},
			`{"cells":[{"cell_type":"code","execution_count":null,"source":"a","metadata":{"id":"x"},"outputs":[]}],` + v4 + `}`,
		},
		"attachments of text stay": {
			`{"cells":[{"attachments":{"a.png":{}},"cell_type":"raw","metadata":{},"source":"a"}],` + v4 + `}`,
			Edit{CellID: "cell-0", CellType: "markdown", Source: "b"},
			`{"cells":[{"attachments":{"a.png":{}},"cell_type":"markdown","metadata":{},"source":"b"}],` + v4 + `}`,
		},
		"keys at both ends go": {
			`{"cells":[{"outputs":[],"cell_type":"code","source":"a","execution_count":null}],` + v4 + `}`,
			Edit{CellID: "cell-0", CellType: "markdown", Source: "b"},
			`{"cells":[{"cell_type":"markdown","source":"b"}],` + v4 + `}`,
		},
		"an unknown type stays": {
			`{"cells":[{"cell_type":"evil","outputs":[],"metadata":{}}],` + v4 + `}`,
			Edit{CellID: "cell-0", Source: "b"},
			`{"cells":[{"cell_type":"evil","outputs":[],"source":["b"],"metadata":{}}],` + v4 + `}`,
		},
		"the form of another source": {
			`{"cells":[{"cell_type":"raw"},{"cell_type":"raw","source":"x"}],` + v4 + `}`,
			Edit{Mode: Insert, CellID: "cell-0", CellType: "markdown", Source: "b\n"},
			`{"cells":[{"cell_type":"raw"},{"cell_type":"markdown","metadata":{},"source":"b\n"},{"cell_type":"raw","source":"x"}],` + v4 + `}`,
		},
		"escapes of ASCII alone": {
			`{"cells":[{"cell_type":"raw","source":"\u00e9"}],` + v4 + `}`,
			Edit{CellID: "cell-0", Source: "ü😀\x7f\x1b\u2028\b\f\"\\/"},
			`{"cells":[{"cell_type":"raw","source":"\u00fc\ud83d\ude00\u007f\u001b\u2028\b\f\"\\/"}],` + v4 + `}`,
		},
		"no escapes of what is no ASCII": { // an unpaired surrogate is no evidence
			`{"cells":[{"cell_type":"raw","source":"\u001b\\u00e9\ud800\u0041\ud800"}],` + v4 + `}`,
			Edit{CellID: "cell-0", Source: "ü😀\x7f\x1b\u2028\b\f\"\\/"},
			`{"cells":[{"cell_type":"raw","source":"ü😀` + "\x7f" + `\u001b` + "\u2028" + `\b\f\"\\/"}],` + v4 + `}`,
		},
		"lines that stay keep their bytes": {
			`{"cells":[{"cell_type":"raw","source":["\u0061\/\u000a","é\ud800\n","x\n","\u0065\f","` + "\xff" + `"]}],` + v4 + `}`,
			Edit{CellID: "cell-0", Source: "a/\né\uFFFD\ny\ne\f\uFFFD"},
			`{"cells":[{"cell_type":"raw","source":["\u0061\/\u000a","é\ud800\n","y\n","\u0065\f","` + "\xff" + `"]}],` + v4 + `}`,
		},
		"lines of a string too": {
			`{"cells":[{"cell_type":"raw","source":"\u0061\/\u000aé\ud800\nx\n\u0065\f` + "\xff" + `"}],` + v4 + `}`,
			Edit{CellID: "cell-0", Source: "a/\né\uFFFD\ny\ne\f\uFFFD"},
			`{"cells":[{"cell_type":"raw","source":"\u0061\/\u000aé\ud800\ny\n\u0065\f` + "\xff" + `"}],` + v4 + `}`,
		},
		"a line at the end": {
			`{"cells":[{"cell_type":"raw","source":["","\u0061\n","b"]}],` + v4 + `}`,
			Edit{CellID: "cell-0", Source: "a\nb\nb"},
			`{"cells":[{"cell_type":"raw","source":["","\u0061\n","b\n","b"]}],` + v4 + `}`,
		},
		"another type, the same source": {
			`{"cells":[{"cell_type":"raw","source":["\u0061","b\n",""]}],` + v4 + `}`,
			Edit{CellID: "cell-0", CellType: "markdown", Source: "ab\n"},
			`{"cells":[{"cell_type":"markdown","source":["\u0061","b\n",""]}],` + v4 + `}`,
		},
		"one line of a string": {
			`{"cells":[{"cell_type":"raw","source":"\u0061\u000ab"}],` + v4 + `}`,
			Edit{CellID: "cell-0", Source: "a\nc"},
			`{"cells":[{"cell_type":"raw","source":"\u0061\u000ac"}],` + v4 + `}`,
		},
		"an empty string": {
			`{"cells":[{"cell_type":"raw","source":"a"}],` + v4 + `}`,
			Edit{CellID: "cell-0"},
			`{"cells":[{"cell_type":"raw","source":""}],` + v4 + `}`,
		},
		"delete the only cell": {
			"{\n \"cells\": [\n  {\"cell_type\": \"raw\"}\n ],\n " + v4 + "\n}",
			Edit{Mode: Delete, CellID: "cell-0", CellType: "evil", Source: "\xff"},
			"{\n \"cells\": [],\n " + v4 + "\n}",
		},
		"delete the first cell": {
			"{\"cells\": [ {\"cell_type\": \"raw\"} ,\n {\"cell_type\": \"code\"}\n ], " + v4 + "}",
			Edit{Mode: Delete, CellID: "cell-0"},
			"{\"cells\": [ {\"cell_type\": \"code\"}\n ], " + v4 + "}",
		},
		"delete the last cell": {
			"{\"cells\": [ {\"cell_type\": \"raw\"} ,\n {\"cell_type\": \"code\"}\n ], " + v4 + "}",
			Edit{Mode: Delete, CellID: "cell-1"},
			"{\"cells\": [ {\"cell_type\": \"raw\"}\n ], " + v4 + "}",
		},
		"an id that is taken": {
			`{"cells":[{"cell_type":"raw","id":"deadbeef"},{"cell_type":"raw","id":"deadbef0"}],` + v5 + `}`,
			Edit{Mode: Insert, CellID: "deadbeef", CellType: "markdown", Source: "x"},
			`{"cells":[{"cell_type":"raw","id":"deadbeef"},{"cell_type":"markdown","id":"deadbef1","metadata":{},"source":["x"]},{"cell_type":"raw","id":"deadbef0"}],` + v5 + `}`,
		},
	} {
		tc.e.Random = beef()
		got, _, err := Apply([]byte(tc.before), tc.e)
		if diff := cmp.Diff(tc.want, string(got)); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

// TestChange checks that the Change of an edit is true.
func TestChange(t *testing.T) {
	cells := func(cells string) string { return `{"cells":[` + cells + `],` + v4 + `}` }
	ran := `{"cell_type":"code","execution_count":1,"outputs":[],"source":"a"}`
	clean := `{"cell_type":"code","execution_count":null,"outputs":[ ],"source":"b"}`
	for name, tc := range map[string]struct {
		data string
		e    Edit
		want Change
	}{
		"replace": {cells(ran), Edit{CellID: "cell-0", Source: "x"},
			Change{ID: "cell-0", Number: 1, Total: 1, OldType: "code", Type: "code", OldSource: "a", NewSource: "x", Cleared: true, Placed: true}},
		"replace by text": {cells(ran), Edit{CellID: "cell-0", CellType: "markdown", Source: "x"},
			Change{ID: "cell-0", Number: 1, Total: 1, OldType: "code", Type: "markdown", OldSource: "a", NewSource: "x", Cleared: true, Placed: true}},
		"not run": {cells(clean), Edit{CellID: "cell-0", CellType: "markdown", Source: "x"},
			Change{ID: "cell-0", Number: 1, Total: 1, OldType: "code", Type: "markdown", OldSource: "b", NewSource: "x", Placed: true}},
		"insert": {cells(ran + "," + clean), Edit{Mode: Insert, CellID: "cell-0", CellType: "code", Source: "x"},
			Change{ID: "cell-1", Number: 2, Total: 3, Type: "code", NewSource: "x", Placed: true, Renamed: true}},
		"insert last": {cells(ran + "," + clean), Edit{Mode: Insert, CellID: "cell-1", CellType: "code", Source: "x"},
			Change{ID: "cell-2", Number: 3, Total: 3, Type: "code", NewSource: "x", Placed: true}},
		"insert beside a cell of that name": {cells(`{"cell_type":"raw","id":"cell-0"}`), Edit{Mode: Insert, CellType: "code"},
			Change{ID: "cell-0-", Number: 1, Total: 2, Type: "code"}},
		"delete": {cells(ran + "," + clean), Edit{Mode: Delete, CellID: "cell-0", Source: "x"},
			Change{ID: "cell-0", Number: 1, Total: 1, OldType: "code", OldSource: "a", Cleared: true, Placed: true, Renamed: true}},
		"delete by place a cell that has an id": {cells(`{"cell_type":"raw","id":"a"}`), Edit{Mode: Delete, CellID: "cell-0"},
			Change{ID: "a", Number: 1, OldType: "raw", Placed: true}},
		"delete the first of two with one id": {cells(`{"cell_type":"raw","id":"a"},{"cell_type":"raw","id":"a"}`), Edit{Mode: Delete, CellID: "a"},
			Change{ID: "a", Number: 1, Total: 1, OldType: "raw", Doubled: true, Renamed: true}},
	} {
		_, got, err := Apply([]byte(tc.data), tc.e)
		if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}
