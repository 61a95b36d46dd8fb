/**
 * Whether tests show the effect of each query parameter and each field of a body: the files that mention it are run without
 * it, the likeliest first, until one of them fails.
 * `node scripts/effects.ts [--sample 60] [--seed 1] [--only text …] [--tries 4] [--jobs 2] [--limit 300]`.
 * A run that takes longer than the limit, in seconds, shows nothing, as does a file that fails as it is.
 */
import { spawn } from 'node:child_process'
import { parseArgs } from 'node:util'
import { startService } from '../test/support/service.ts'
import { readTests } from '../test/system/effects.candidates.ts'
import { settable } from '../test/system/effects.walk.ts'

const { values } = parseArgs({
  options: {
    sample: { type: 'string' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string', multiple: true, default: [''] },
    tries: { type: 'string', default: '4' },
    jobs: { type: 'string', default: '2' },
    limit: { type: 'string', default: '300' },
  },
})

const milliseconds = Number(values.limit) * 1000

/** All settable keys that must have an effect, with the files that may show it. */
async function wanted(): Promise<readonly (readonly [key: string, files: readonly string[]])[]> {
  await using svc = await startService()
  const known = settable((await svc.as(null).get('/system/openapi/spec.json')).body)
  const tests = await readTests()
  return [...known].flatMap(([key, { name, refused, always }]) =>
    refused || always || !values.only.some((text) => key.includes(text))
      ? []
      : [[key, tests.candidates(key, name).slice(0, Number(values.tries))] as const],
  )
}

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

/** The result of a file without the key, its first failed test, and whether a request had the key. */
interface Run {
  readonly key: string
  readonly passed: boolean
  readonly failed: string | undefined
  readonly sent: boolean
}

/** The keys whose effect the file does not show, with the reason. */
async function findings(file: string, keys: readonly string[]): Promise<Map<string, string>> {
  if (keys.length === 0) return new Map()
  const [whole, ...runs] = await run(file, ['', ...keys])
  // If the file fails anyway, its failures show nothing.
  if (!whole?.passed) {
    const why = whole?.failed === undefined ? '' : ` (${whole.failed})`
    return new Map(keys.map((key) => [key, `${file} does not pass as it is${why}`]))
  }
  const silent = new Map(
    runs
      .filter(({ passed }) => passed)
      .map(({ key, sent }) => [key, sent ? `${file} passes without it` : `no request of ${file} has it`]),
  )
  const [endless, ...left] = keys.slice(runs.length)
  if (endless === undefined) return silent
  return new Map([...silent, [endless, `${file} comes to no end without it`], ...(await findings(file, left))])
}

/** Runs the file without each of the keys, one after the other in a process, until one of them does not end. */
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
    // Suites are at the beginning of a line, their tests before them behind spaces.
    for (const [text, tests, result] of output.slice(read).matchAll(/([\s\S]*?)^(ok|not ok) \d+ - .*\n/gm)) {
      results.push({ passed: result === 'ok', failed: tests?.match(/^ +not ok \d+ - (.*)/m)?.[1] })
      read += text.length
    }
    if (results.length === before) continue
    clearTimeout(timer)
    // Resources left open by failed tests would keep the process running for ever.
    if (results.length >= keys.length) stop()
    else timer = setTimeout(stop, milliseconds)
  }
  clearTimeout(timer)
  return results.slice(0, keys.length).map((result, index) => {
    const key = keys[index] ?? ''
    return { key, ...result, sent: !output.includes(`# no request of ${file} has ${key}\n`) }
  })
}

let open = drawn(await wanted(), Number(values.sample ?? Number.MAX_SAFE_INTEGER), Number(values.seed))
const total = open.length
const told = new Map<string, string[]>()
// Keys of one file run in one process; keys without a visible effect go on to their next file.
for (let turn = 0; turn < Number(values.tries) && open.length > 0; turn++) {
  const silent = new Set<string>()
  const queue = [...Map.groupBy(open, ([, files]) => files[turn] ?? '')]
  const work = async (): Promise<void> => {
    for (let next = queue.shift(); next; next = queue.shift()) {
      const [file, entries] = next
      const keys = entries.map(([key]) => key)
      const found =
        file === '' ? new Map(keys.map((key) => [key, 'no other file mentions it'])) : await findings(file, keys)
      for (const [key, why] of found) {
        silent.add(key)
        told.set(key, [...(told.get(key) ?? []), why])
      }
    }
  }
  await Promise.all(Array.from({ length: Number(values.jobs) }, work))
  open = open.filter(([key]) => silent.has(key))
}
for (const [key] of open) console.log(`${key}: ${[...new Set(told.get(key))].join('; ')}`)
console.log(`${total - open.length} of ${total} show an effect`)
process.exit(open.length === 0 ? 0 : 1)
