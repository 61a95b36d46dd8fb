import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import { terminalLine } from '../../../src/platform/process/log-terminal.ts'

const shown = (line: object): string =>
  stripVTControlCharacters(terminalLine(JSON.stringify({ level: 'info', time: '2026-02-03T04:05:06.789Z', ...line })))

test('a request is one short line', () => {
  const line = {
    msg: 'request',
    method: 'GET',
    path: '/api/v1/search',
    status: 200,
    ms: 12.5,
    user: 'ada',
    request_id: 'x',
  }
  assert.equal(shown(line), '  04:05:06  200 GET /api/v1/search 12.5 ms ada\n')
})

test('anything else is its message with what belongs to it', () => {
  assert.equal(shown({ msg: 'slow', level: 'warn', table: 'object', ms: 3 }), '  04:05:06  warn slow table=object\n')
  const failed = shown({ msg: 'failed', level: 'error', request_id: 'abc', err: { stack: 'Error: no\n    at x' } })
  assert.equal(failed, '  04:05:06  error failed request abc\n            Error: no\n                at x\n')
})

test('what a client sends cannot move the cursor or colour the terminal', () => {
  const raw = terminalLine(
    JSON.stringify({
      level: 'info',
      time: '2026-02-03T04:05:06.789Z',
      msg: 'request',
      method: 'GET',
      path: '/\u001b[2J\u202e\r',
      status: 404,
      ms: 1,
    }),
  )
  assert.ok(raw.includes('/\\u{1b}[2J\\u{202e}\\u{d}'))
})
