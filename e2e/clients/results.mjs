// Summarizes a conformance run: its counts, the expected failures and, with their
// reasons, the unexpected ones. The suites' own summaries only count them.
// usage: results.mjs OUTPUT-FILE RESULTS-FOLDER
// fails if the run did not finish, or had nothing to run
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const [outputFile, folder] = process.argv.slice(2);
const output = readFileSync(outputFile, 'utf8').replace(/\x1b\[[0-9;]*m/g, '');
const total = output.match(/^Total: (\d+) passed/m);
if (!total || total[1] === '0' || !/^(Baseline|Unexpected failures) /m.test(output)) process.exit(1);
console.log(`${total[1]} checks passed`);

const listed = (heading) => {
  const from = output.indexOf(`\n${heading}`);
  if (from < 0) return [];
  const lines = output.slice(from + 1).split('\n').slice(1);
  const end = lines.findIndex((l) => !l.startsWith('  '));
  return lines.slice(0, end).map((l) => l.trim().split(' ')[1]);
};
for (const name of listed('Expected failures')) console.log(`expected failure: ${name}`);
for (const name of listed('Stale')) console.log(`passes, so take it out of the list: ${name}`);

const unexpected = new Set(listed('Unexpected failures'));
for (const run of readdirSync(folder).sort()) {
  let checks;
  try {
    checks = JSON.parse(readFileSync(join(folder, run, 'checks.json'), 'utf8'));
  } catch {
    continue;
  }
  const scenario = run.replace(/^server-/, '').replace(/-\d{4}-\d\d-\d\dT.*$/, '');
  for (const c of checks) {
    // With a list of expected failures the suites count warnings as failures.
    if (c.status !== 'FAILURE' && c.status !== 'WARNING') continue;
    if (!unexpected.has(scenario) && !unexpected.has(`${scenario}:${c.id}`)) continue;
    console.log(`${c.status} ${scenario}:${c.id}: ${c.errorMessage ?? c.description}`);
    if (c.details) console.log(`  ${JSON.stringify(c.details).slice(0, 600)}`);
  }
}
