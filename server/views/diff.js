// unified returns the rows of a text with a unified diff, for hosts that pass no _meta.
function unified(all) {
  let inside = false;
  return all.split('\n').map((line) => {
    inside ||= line.startsWith('@@ ');
    const kind = inside && line[0] === '+' ? 'add' : inside && line[0] === '-' ? 'cut' : '';
    return () => row(kind, element('span', 'text', line));
  });
}

function diff({ arguments: args, result }) {
  const file = args.file_path ?? args.notebook_path ?? '';
  if (!result) return show(file, 'Waiting for the result', false, []);
  const hunks = meta('hunks');
  if (result.isError) return show(file, meta('summary') ?? 'Failed', true, lines(text()));
  const rows = [];
  let [added, removed] = [0, 0];
  const line = (kind, old, now, content) =>
    rows.push(() => row(kind, element('span', 'number', old), element('span', 'number', now), element('span', 'text', content)));
  for (const h of Array.isArray(hunks) ? hunks : []) {
    let [old, now] = [h.oldStart, h.newStart];
    rows.push(() => row('note', element('span', '', `@@ -${h.oldStart},${h.oldLines} +${h.newStart},${h.newLines} @@${h.omitted ? ' too long to show' : ''}`)));
    for (const l of h.lines ?? []) {
      if (l[0] === '+') line('add', '', now++, l), added++;
      else if (l[0] === '-') line('cut', old++, '', l), removed++;
      else if (l[0] === '\\') line('', '', '', l);
      else line('', old++, now++, l);
    }
  }
  if (!hunks && typeof args.content === 'string' && /^Created /.test(meta('summary'))) {
    const all = args.content.replace(/\n$/, '').split('\n');
    all.forEach((l, i) => line('add', '', i + 1, '+' + l));
    added = all.length;
  }
  const whole = rows.length === 0 || hunks?.some((h) => h.omitted);
  show(file, whole ? meta('summary') ?? '' : `+${added} \u2212${removed}`, false, rows.length ? rows : unified(text()));
}
