/**
 * Whether the tests that test/system/effects.json names show an effect: each is run without the parameter or field that it
 * is named for, and has to fail. `node scripts/effects.ts [--sample 60] [--seed 1] [--only text …] [--jobs 2] [--limit 300]`.
 * A run that takes longer than the limit, in seconds, is reported as one that comes to no end; a file that fails as it is
 * shows nothing.
 */
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'

const { values } = parseArgs({
  options: {
    sample: { type: 'string' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string', multiple: true, default: [''] },
    jobs: { type: 'string', default: '2' },
    limit: { type: 'string', default: '300' },
  },
})

const milliseconds = Number(values.limit) * 1000

const { effects }: { effects: Record<string, string> } = JSON.parse(
  readFileSync(new URL('../test/system/effects.json', import.meta.url), 'utf8'),
)
const entries = Object.entries(effects).filter(
  ([key, file]) => file.endsWith('.test.ts') && values.only.some((text) => `${key} ${file}`.includes(text)),
)

/** The same entries for the same seed. */
function drawn<T>(from: readonly T[], count: number, seed: number): T[] {
  let state = seed
  const left = [...from]
  const result: T[] = []
  while (left.length > 0 && result.length < count) {
    state = (state * 48_271) % 2_147_483_647
    result.push(...left.splice(state % left.length, 1))
  }
  return result
}

/** How a file ended without the key, which of its tests failed first, and whether a request has had the key. */
interface Run {
  readonly key: string
  readonly passed: boolean
  readonly failed: string | undefined
  readonly sent: boolean
}

/** A line for each key whose effect the file does not show. */
async function findings(file: string, keys: readonly string[]): Promise<readonly string[]> {
  if (keys.length === 0) return []
  const [whole, ...runs] = await run(file, ['', ...keys])
  // Its failures would say nothing.
  if (!whole?.passed) {
    const why = whole?.failed === undefined ? '' : ` (${whole.failed})`
    return keys.map((key) => `${file} does not pass as it is${why}: nothing is known of ${key}`)
  }
  const silent = runs
    .filter(({ passed }) => passed)
    .map(({ key, sent }) => `${file} passes without ${key}${sent ? '' : ', which no request of it has'}`)
  const [endless, ...left] = keys.slice(runs.length)
  if (endless === undefined) return silent
  return [...silent, `${file} comes to no end without ${endless}`, ...(await findings(file, left))]
}

/** Runs the file without each of the keys, one after the other in a process, until one of them comes to no end. */
async function run(file: string, keys: readonly string[]): Promise<readonly Run[]> {
  // Random values are those of a whole run.
  const flags = ['--import', './test/support/properties.ts', '--test-reporter=tap']
  const test = spawn(process.execPath, [...flags, 'test/support/without-each.ts', file, JSON.stringify(keys)], {
    cwd: new URL('..', import.meta.url),
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const stop = () => void test.kill('SIGKILL')
  let timer = setTimeout(stop, milliseconds)
  let output = ''
  let read = 0
  const results: { passed: boolean; failed: string | undefined }[] = []
  for await (const chunk of test.stdout.setEncoding('utf8')) {
    output += chunk
    const before = results.length
    // Suites stand at the beginning of a line, their tests before them behind spaces.
    for (const [text, tests, result] of output.slice(read).matchAll(/([\s\S]*?)^(ok|not ok) \d+ - .*\n/gm)) {
      results.push({ passed: result === 'ok', failed: tests?.match(/^ +not ok \d+ - (.*)/m)?.[1] })
      read += text.length
    }
    if (results.length === before) continue
    clearTimeout(timer)
    // What tests that failed have left open would keep the process for ever.
    if (results.length >= keys.length) stop()
    else timer = setTimeout(stop, milliseconds)
  }
  clearTimeout(timer)
  return results.slice(0, keys.length).map((result, index) => {
    const key = keys[index] ?? ''
    return { key, ...result, sent: !output.includes(`# no request of ${file} has ${key}\n`) }
  })
}

const queue = [
  ...Map.groupBy(drawn(entries, Number(values.sample ?? entries.length), Number(values.seed)), ([, file]) => file),
].map(([file, keyed]) => ({ file, keys: keyed.map(([key]) => key) }))
const total = queue.reduce((sum, { keys }) => sum + keys.length, 0)
let silent = 0
async function work(): Promise<void> {
  for (let next = queue.shift(); next; next = queue.shift()) {
    const found = await findings(next.file, next.keys)
    silent += found.length
    for (const line of found) console.log(line)
  }
}
await Promise.all(Array.from({ length: Number(values.jobs) }, work))
console.log(`${total - silent} of ${total} show an effect`)
process.exitCode = silent === 0 ? 0 : 1
