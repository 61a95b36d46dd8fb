/**
 * `npm test`: one PostgreSQL for the whole run, the test files in parallel, everything removed at the end. Arguments are
 * test files or options of `node --test`. Without files, all run, several in one process (test-plan.ts).
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, glob, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { memoryFolder } from '../test/support/memory-folder.ts'
import { readDurations } from './test-durations.ts'
import { planTests, readTestFiles } from './test-plan.ts'

const root = join(import.meta.dirname, '..')
/** Milliseconds; a run takes 16 to 19 minutes on two cores, and several times that beside other work. */
const longestRun = 85 * 60_000
// Hundreds of processes load the same modules; the compile cache saves each of them a third of a second.
process.env.NODE_COMPILE_CACHE ??= join(root, 'node_modules', '.cache', 'compile')
// Temporary files of tests are there, and are removed with it. Names of sockets must be short, so its own name is short,
// too.
const temporary = await mkdtemp(join(memoryFolder(), 'strongroom-'))
// Accessible like the usual one: a server started by root runs as another user.
await chmod(temporary, 0o1777)
process.env.TMPDIR = temporary
process.env.TEST_SERVER_FOLDER = join(temporary, 'server')
const { testServerReady } = await import('../test/support/postgres.ts')

const server = spawn(process.execPath, [join(root, 'test', 'support', 'test-server.ts')], {
  // A separate process group: Ctrl+C ends the tests first, and the server after them.
  detached: true,
  stdio: ['ignore', 'inherit', 'inherit'],
})
const serverGone = once(server, 'exit')
await Promise.race([testServerReady(), serverGone])

/** More than there are cores: tests spend a part of their time waiting, for processes, for PostgreSQL and for time limits. */
const atOnce = availableParallelism() + 2

const args = process.argv.slice(2)
const groups = await mkdtemp(join(temporary, 'files-'))
const files = args.some((arg) => !arg.startsWith('-')) ? args : [...args, ...(await groupsOfAll())]

/** Writes a file for each process, named so that they begin in the order of the plan. */
async function groupsOfAll(): Promise<string[]> {
  const all = await Array.fromAsync(glob('test/**/*.test.ts', { cwd: root }))
  const support = JSON.stringify(join(root, 'test', 'support', 'together.ts'))
  return Promise.all(
    planTests(await readTestFiles(root, all), await readDurations(), atOnce).map(async (group, index) => {
      const file = join(groups, `${String(index).padStart(4, '0')}.mjs`)
      await writeFile(file, `import { runTogether } from ${support}\nrunTogether(${JSON.stringify(group)})\n`)
      return file
    }),
  )
}

const tests = spawn(
  process.execPath,
  [
    '--import',
    join(root, 'test', 'support', 'properties.ts'),
    '--test',
    `--test-concurrency=${atOnce}`,
    '--test-reporter=spec',
    '--test-reporter-destination=stdout',
    `--test-reporter=${join(root, 'scripts', 'test-durations.ts')}`,
    '--test-reporter-destination=stdout',
    '--test-timeout=180000',
    ...files,
  ],
  { cwd: root, stdio: 'inherit' },
)
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => tests.kill(signal))
// A file whose process does not end would keep the run waiting for ever.
setTimeout(() => {
  process.stderr.write(`the tests do not come to an end; stopped after ${longestRun / 60_000} minutes\n`)
  tests.kill('SIGTERM')
}, longestRun).unref()
const [code] = (await once(tests, 'exit')) as [number | null]
server.kill('SIGTERM')
await serverGone
await rm(temporary, { recursive: true, force: true })
process.exit(code ?? 1)
