/**
 * Whether the tests that test/system/effects.json names show an effect: each is run without the parameter or field that it
 * is named for, and has to fail. `node scripts/effects.ts [--sample 60] [--seed 1] [--only text …] [--jobs 2]`.
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
  },
})

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

/** One process for each file: gives the keys without which it passes, and whether a request has them at all. */
async function passing(file: string, keys: readonly string[]): Promise<readonly string[]> {
  const support = JSON.stringify(new URL('../test/support/without-each.ts', import.meta.url).href)
  const code = `import { withoutEach } from ${support}; withoutEach(${JSON.stringify(file)}, ${JSON.stringify(keys)})`
  const flags = ['--test-reporter=tap', '--test-timeout=60000', '--input-type=module', '--eval', code]
  const test = spawn(process.execPath, flags, {
    cwd: new URL('..', import.meta.url),
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  let output = ''
  for await (const chunk of test.stdout.setEncoding('utf8')) output += chunk
  // Suites stand at the beginning of a line, their tests behind spaces.
  const ended = new Map(
    Array.from(output.matchAll(/^(ok|not ok) (\d+) - /gm), ([, result, number]) => [Number(number) - 1, result]),
  )
  return keys.flatMap((key, index) => {
    if (ended.get(index) === 'not ok') return []
    if (!ended.has(index)) return [`${file} comes to no end without ${key}`]
    const sent = !output.includes(`# no request of ${file} has ${key}\n`)
    return [`${file} passes without ${key}${sent ? '' : ', which no request of it has'}`]
  })
}

const queue = [
  ...Map.groupBy(drawn(entries, Number(values.sample ?? entries.length), Number(values.seed)), ([, file]) => file),
].map(([file, keyed]) => ({ file, keys: keyed.map(([key]) => key) }))
const total = queue.reduce((sum, { keys }) => sum + keys.length, 0)
let silent = 0
async function work(): Promise<void> {
  for (let next = queue.shift(); next; next = queue.shift()) {
    const found = await passing(next.file, next.keys)
    silent += found.length
    for (const line of found) console.log(line)
  }
}
await Promise.all(Array.from({ length: Number(values.jobs) }, work))
console.log(`${total - silent} of ${total} show an effect`)
process.exitCode = silent === 0 ? 0 : 1
