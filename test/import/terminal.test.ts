import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { askSecret, confirm, type Terminal } from '../../src/import/terminal.ts'

/** A terminal at which somebody types, and what it shows. */
function terminal(typed: string): Terminal & { shown: () => string } {
  const input = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => {} })
  const output = new PassThrough()
  let shown = ''
  output.on('data', (chunk) => {
    shown += chunk
  })
  setImmediate(() => input.write(typed))
  return { input: input as unknown as NodeJS.ReadStream, output, shown: () => shown }
}

test('only yes is yes', async () => {
  const cases: [string, boolean][] = [
    ['y\r', true],
    ['JA\r', true],
    ['yes\r', true],
    ['\r', false],
    ['n\r', false],
    ['yo\r', false],
    // The end of the input.
    ['\u0004', false],
  ]
  for (const [typed, agreed] of cases)
    assert.equal(await confirm(terminal(typed), 'Import?'), agreed, JSON.stringify(typed))
  await assert.rejects(confirm(terminal('\u0003'), 'Import?'), /interrupted/)
})

test('a password is not shown', async () => {
  const somebody = terminal('se cret\r')
  assert.equal(await askSecret(somebody, 'Password of root: '), 'se cret')
  assert.equal(somebody.shown(), 'Password of root: \n')
})
