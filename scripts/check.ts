/**
 * `npm run check`: types, lint and format, import rules, unused code, slow patterns, lock file. All checks run, so that
 * one run shows everything; the exit code is 1 when any of them found something.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

interface Check {
  name: string
  /** File of the tool, from the root of the checkout; run with this Node. */
  tool: string
  args: string[]
  /** A reason to fail although the tool succeeded. */
  doubt?: (output: string) => string | null
}

interface Result {
  name: string
  output: string
  failed: boolean
  seconds: number
}

const root = join(import.meta.dirname, '..')

const checks: Check[] = [
  { name: 'types', tool: 'node_modules/typescript-7/bin/tsc', args: ['--noEmit', '--pretty', 'false'] },
  {
    name: 'lint and format',
    tool: 'node_modules/@biomejs/biome/bin/biome',
    args: ['check', '--error-on-warnings', '.'],
  },
  {
    name: 'import rules',
    tool: 'node_modules/dependency-cruiser/bin/dependency-cruiser.mjs',
    args: ['src', '--config', '.dependency-cruiser.mjs'],
    // Without a compiler that it knows, the tool reads nothing and succeeds.
    doubt: (output) => (/[1-9]\d* modules, [1-9]\d* dependencies/.test(output) ? null : 'it read no modules'),
  },
  { name: 'unused code', tool: 'node_modules/knip/bin/knip.js', args: ['--no-progress', '--no-config-hints'] },
  { name: 'patterns', tool: 'scripts/check-patterns.ts', args: [] },
  { name: 'lock file', tool: 'scripts/check-lock.ts', args: [] },
]

async function run({ name, tool, args, doubt }: Check): Promise<Result> {
  const begun = performance.now()
  const child = spawn(process.execPath, [join(root, tool), ...args], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      output += chunk
    })
  }
  const [code] = (await once(child, 'close')) as [number | null]
  const reason = code === 0 ? (doubt?.(output) ?? null) : null
  if (reason) output += `\n${reason}\n`
  return { name, output, failed: code !== 0 || reason !== null, seconds: (performance.now() - begun) / 1000 }
}

const results = await Promise.all(checks.map(run))
for (const { name, output, failed } of results) if (failed) console.log(`── ${name} ──\n${output.trim()}\n`)
for (const { name, failed, seconds } of results) {
  console.log(`${failed ? '✖' : '✔'} ${name} (${seconds.toFixed(1)} s)`)
}
process.exit(results.some(({ failed }) => failed) ? 1 : 0)
