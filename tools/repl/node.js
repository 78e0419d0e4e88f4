// The Node side of the REPL tool: it runs the code of each request in one context, by the
// evaluator of node:repl, which has top-level await.
//
// Requests come as lines of JSON on descriptor 3, answers go as lines of JSON to descriptor 4.
// Node closes both in children. What the code prints goes to descriptors 1 and 2, which are
// one pipe.
'use strict';
(() => {
  const fs = require('fs');
  const { writeSync } = fs;
  const { inspect } = require('util');
  const { createRequire } = require('module');
  const { Socket } = require('net');
  const { Writable } = require('stream');
  const { parse, stringify } = JSON;
  const nodeRepl = require('repl');
  const on = process.on.bind(process), off = process.off.bind(process);
  const later = setImmediate;

  const all = (fd, text) => {
    let data = Buffer.from(text);
    while (data.length > 0) {
      try {
        data = data.subarray(writeSync(fd, data));
      } catch (err) {
        if (err.code !== 'EAGAIN') return false;
      }
    }
    return true;
  };
  const show = (value) => all(1, value + '\n');
  const describe = (err) => {
    try {
      if (err !== null && typeof err === 'object' && typeof err.stack === 'string') {
        if (err.code === 'ERR_SCRIPT_EXECUTION_INTERRUPTED') return 'Interrupted';
        const lines = [];
        for (const line of inspect(err).split('\n')) {
          if (!/^\s+at .*(\(|\s)(node:|\[eval\])/.test(line)) lines.push(line);
          else if (line.endsWith(' {')) lines[lines.length - 1] += ' {';
        }
        return 'Uncaught ' + lines.join('\n');
      }
      return 'Uncaught ' + inspect(err);
    } catch {
      return 'Uncaught exception, which cannot be shown';
    }
  };

  const output = new Writable({ write(chunk, encoding, done) { all(1, chunk); done(); } });
  const input = new (require('stream').Readable)({ read() {} });
  // The REPL binds its evaluator to a domain, which would take the exceptions.
  let evaluate = null;
  const { Domain } = require('domain');
  const { bind } = Domain.prototype;
  Domain.prototype.bind = function (f) {
    evaluate ??= f;
    return bind.call(this, f);
  };
  const server = nodeRepl.start({ prompt: '', input, output, terminal: false, useGlobal: false, breakEvalOnSigint: true, ignoreUndefined: true });
  Domain.prototype.bind = bind;
  evaluate ??= server.eval;
  const context = server.context;
  const require_ = createRequire(process.cwd() + '/repl');
  Object.defineProperty(context, 'require', { value: require_, writable: true, configurable: true });

  const { stdout, stderr } = process;
  // A large write goes on when write has returned.
  const flush = (stream, then) => {
    if (stream.destroyed || stream.writableEnded || stream.writableLength === 0) return then();
    stream.write('', then);
  };

  let current = null;
  const finish = (ok) => {
    if (current === null) return;
    const id = current;
    current = null;
    later(() => flush(stdout, () => flush(stderr, () => {
      if (!all(4, '\n' + stringify({ id, ok }) + '\n')) process.reallyExit(97);
    })));
  };
  const failed = (err) => {
    show(describe(err));
    finish(false);
  };
  // It rejects what a call awaits. The server asks for it before it sends a signal, since a signal
  // ends Node at some moments, as before and after the evaluator catches it. A listener would take
  // the signal from the evaluator, which interrupts a call that computes.
  const interrupt = () => {
    if (current !== null) server.emit('SIGINT');
  };
  const run = (request) => {
    current = request.id;
    off('SIGINT', interrupt);
    try {
      evaluate.call(server, request.code + '\n', context, 'call', (err, value) => {
        if (current !== request.id) return;
        if (err) return failed(err instanceof nodeRepl.Recoverable ? err.err : err);
        if (value !== undefined) {
          server.last = value;
          try {
            show(inspect(value, { maxArrayLength: 1000, maxStringLength: 100000 }));
          } catch (err) {
            return failed(err);
          }
        }
        finish(true);
      });
    } catch (err) {
      failed(err);
    } finally {
      on('SIGINT', interrupt);
    }
  };

  on('SIGINT', interrupt);
  on('uncaughtException', (err) => {
    // The call goes on if an earlier one, or what it has started, has failed.
    show(describe(err));
  });
  on('unhandledRejection', (err) => show(describe(err)));

  let rest = '';
  const requests = new Socket({ fd: 3, readable: true, writable: false });
  requests.setEncoding('utf8');
  requests.on('data', (text) => {
    rest += text;
    for (let at; (at = rest.indexOf('\n')) >= 0;) {
      const request = parse(rest.slice(0, at));
      rest = rest.slice(at + 1);
      // Later, a signal that was meant for the former call has been received.
      if (request.code !== undefined) later(run, request);
      else later(() => { if (current === request.id) interrupt(); });
    }
  });
  requests.on('end', () => process.exit(0));
})();
