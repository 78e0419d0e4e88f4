// byTool shows a call by the view of the tool that it names; the server puts the table of views behind it.
function byTool({ arguments: { name, arguments: args }, result }) {
  if (typeof args === 'string') {
    try { args = JSON.parse(args); } catch { /* the result has the error */ }
  }
  (views[name] === 'diff' ? diff : output)({ name, arguments: Object(args), result });
}
