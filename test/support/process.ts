import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const main = join(import.meta.dirname, '..', '..', 'src', 'main.ts')

export interface Finished {
  code: number | null
  stdout: string
  stderr: string
}

/** Runs the command line to its end. */
export async function runCommand(args: string[], env: Record<string, string> = {}, cwd?: string): Promise<Finished> {
  const child = spawnCommand(args, env, cwd)
  const output = collect(child)
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, ...output }
}

/** A service in a process of its own, started with the command line. */
export interface ServiceProcess extends AsyncDisposable {
  readonly child: ChildProcess
  readonly url: string
  readonly output: { stdout: string; stderr: string }
  /** Resolves with the exit code. */
  readonly exited: Promise<number | null>
}

/** Starts `strongroom start` and waits until it says that it is ready. */
export async function spawnService(dataDir: string, env: Record<string, string> = {}): Promise<ServiceProcess> {
  const child = spawnCommand(['start'], { SVC_DATA_DIR: dataDir, SVC_PORT: '0', SVC_LOG_LEVEL: 'warn', ...env })
  const output = collect(child)
  const exited = once(child, 'close').then(([code]) => code as number | null)
  const ready = Promise.withResolvers<string>()
  child.stdout?.on('data', () => {
    const url = /ready at (\S+)/.exec(output.stdout)?.[1]
    if (url) ready.resolve(url)
  })
  exited.then((code) => ready.reject(new Error(`exit code ${code}: ${output.stdout}${output.stderr}`)))
  const url = await ready.promise
  return {
    child,
    url,
    output,
    exited,
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGTERM')
      await exited
    },
  }
}

/** A temporary folder for a service's data; the service in it must be stopped before its end. */
export async function temporaryFolder(): Promise<{ path: string } & AsyncDisposable> {
  const path = await mkdtemp(join(tmpdir(), 'strongroom-test-data-'))
  // Run as root, the database belongs to another user, who must be able to walk here.
  await chmod(path, 0o755)
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
}

function spawnCommand(args: string[], env: Record<string, string>, cwd = tmpdir()): ChildProcess {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('SVC_'))
  // Without this a child of a test file would report to the test runner in place of printing.
  const { NODE_TEST_CONTEXT: _, ...environment } = Object.fromEntries(inherited)
  return spawn(process.execPath, [main, ...args], {
    cwd,
    env: { ...environment, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

function collect(child: ChildProcess): { stdout: string; stderr: string } {
  const output = { stdout: '', stderr: '' }
  child.stdout?.on('data', (chunk) => {
    output.stdout += chunk
  })
  child.stderr?.on('data', (chunk) => {
    output.stderr += chunk
  })
  return output
}
