import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..', '..')
const main = join(root, 'src', 'main.ts')
const launcher = join(root, 'bin', 'strongroom.js')

export interface Finished {
  code: number | null
  stdout: string
  stderr: string
}

export interface Started {
  readonly child: ChildProcess
  readonly output: { stdout: string; stderr: string }
  /** Resolves with the exit code. */
  readonly exited: Promise<number | null>
}

/** A service in a process of its own, started with the command line. */
export interface ServiceProcess extends Started, AsyncDisposable {
  readonly url: string
}

/** Runs the command line to its end. */
export async function runCommand(args: string[], env: Record<string, string> = {}): Promise<Finished> {
  const { output, exited } = startCommand(args, env)
  return { code: await exited, ...output }
}

/** Starts `strongroom start` and waits until it says that it is ready. `flags` are those of Node. */
export async function spawnService(
  dataDir: string,
  env: Record<string, string> = {},
  flags: readonly string[] = [],
): Promise<ServiceProcess> {
  const settings = { SVC_DATA_DIR: dataDir, SVC_PORT: '0', SVC_LOG_LEVEL: 'warn', ...env }
  return readyService(startCommand(['start'], settings, { flags }))
}

/** The same by bin/strongroom.js, in a folder with its `svc.yml`. */
export async function launchService(folder: string, env: Record<string, string> = {}): Promise<ServiceProcess> {
  const settings = { SVC_DATA_DIR: join(folder, 'data'), SVC_PORT: '0', SVC_LOG_LEVEL: 'warn', ...env }
  return readyService(startCommand(['start'], settings, { program: launcher, cwd: folder }))
}

async function readyService(started: Started): Promise<ServiceProcess> {
  const { child, output, exited } = started
  const ready = Promise.withResolvers<string>()
  child.stdout?.on('data', () => {
    const url = /ready at (\S+)/.exec(output.stdout)?.[1]
    if (url) ready.resolve(url)
  })
  exited.then((code) => ready.reject(new Error(`exit code ${code}: ${output.stdout}${output.stderr}`)))
  return {
    ...started,
    url: await ready.promise,
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGTERM')
      await exited
    },
  }
}

/** Starts the command line, with no settings but those given, and `input` on its standard input. */
export function startCommand(
  args: string[],
  env: Record<string, string>,
  {
    input = '',
    flags = [],
    program = main,
    cwd = tmpdir(),
  }: { input?: string; flags?: readonly string[]; program?: string; cwd?: string } = {},
): Started {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('SVC_'))
  // Without this a child of a test file would report to the test runner in place of printing.
  const { NODE_TEST_CONTEXT: _, ...environment } = Object.fromEntries(inherited)
  const child = spawn(process.execPath, [...flags, program, ...args], {
    cwd,
    env: { ...environment, ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  child.stdin.on('error', () => {}).end(input)
  const output = { stdout: '', stderr: '' }
  child.stdout.on('data', (chunk) => {
    output.stdout += chunk
  })
  child.stderr.on('data', (chunk) => {
    output.stderr += chunk
  })
  return { child, output, exited: once(child, 'close').then(([code]) => code as number | null) }
}

/** A temporary folder for a service's data; the service in it must be stopped before its end. */
export async function temporaryFolder(): Promise<{ path: string } & AsyncDisposable> {
  const path = await mkdtemp(join(tmpdir(), 'strongroom-test-data-'))
  // Run as root, the database belongs to another user, who must be able to walk here.
  await chmod(path, 0o755)
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
}
