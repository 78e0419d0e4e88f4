function output({ name, arguments: args, result }) {
  const command = args.command ?? args.code ?? (args.task_id ? `Task ${args.task_id}` : name ?? '');
  const [first, ...more] = String(command).trim().split('\n');
  const heading = first + (more.length > 0 ? ' …' : '');
  if (!result) return show(heading, 'Waiting for the result', false, []);
  show(heading, meta('summary') ?? (result.isError ? 'Failed' : ''), result.isError === true, lines(text()));
}
