/**
 * Whether the tests that test/system/effects.json names show an effect: each is run without the parameter or field that it
 * is named for, and has to fail. `node scripts/effects.ts [--sample 60] [--seed 1] [--only text] [--jobs 2]`.
 */
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'

const { values } = parseArgs({
  options: {
    sample: { type: 'string' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string', default: '' },
    jobs: { type: 'string', default: '2' },
  },
})

const { effects }: { effects: Record<string, string> } = JSON.parse(
  readFileSync(new URL('../test/system/effects.json', import.meta.url), 'utf8'),
)
const entries = Object.entries(effects).filter(
  ([key, file]) => file.endsWith('.test.ts') && `${key} ${file}`.includes(values.only),
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

function passes(key: string, file: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const test = spawn(process.execPath, ['--test', file], {
      cwd: new URL('..', import.meta.url),
      env: { ...process.env, TEST_WITHOUT: key },
      stdio: 'ignore',
    })
    test.on('error', reject)
    test.on('exit', (code) => resolve(code === 0))
  })
}

const queue = drawn(entries, Number(values.sample ?? entries.length), Number(values.seed))
const total = queue.length
let shown = 0
async function work(): Promise<void> {
  for (let entry = queue.shift(); entry; entry = queue.shift()) {
    const [key, file] = entry
    if (await passes(key, file)) console.log(`${file} passes without ${key}`)
    else shown++
  }
}
await Promise.all(Array.from({ length: Number(values.jobs) }, work))
console.log(`${shown} of ${total} show an effect`)
process.exitCode = shown === total ? 0 : 1
