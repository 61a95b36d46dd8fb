import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { heapFlags } from '../bin/memory.js'
import { runtimeEnvironment } from '../bin/runtime.js'

export interface Process {
  /** The address that it prints at its start. */
  readonly url: string
  readonly pid: number
  /** Milliseconds until it reported to be ready. */
  readonly startMs: number
  stop(): Promise<void>
}

/** Starts a file of this checkout in a separate process and waits until it prints `ready at <address>`. */
export async function startProcess(file: string, args: string[], env: Record<string, string>): Promise<Process> {
  const begun = performance.now()
  const child = spawn(process.execPath, [...heapFlags(), join(import.meta.dirname, '..', file), ...args], {
    env: { ...runtimeEnvironment, ...withoutSettings(process.env), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const url = await readyAt(child, file)
  return {
    url,
    pid: child.pid ?? 0,
    startMs: performance.now() - begun,
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return
      child.kill('SIGTERM')
      await once(child, 'exit')
    },
  }
}

/** Only the bench decides how the service is configured. */
function withoutSettings(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('SVC_')))
}

function readyAt(child: ChildProcess, file: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let output = ''
    const read = (chunk: Buffer): void => {
      output = (output + chunk.toString()).slice(-20_000)
      const url = /ready at (http\S+)/.exec(output)?.[1]
      if (url) resolve(url)
    }
    child.stdout?.on('data', read)
    child.stderr?.on('data', read)
    child.on('exit', (code) => reject(new Error(`${file} ended with ${code} before it was ready:\n${output}`)))
  })
}

/** The largest resident memory (MB) of the process so far; `NaN` where the system does not provide it. */
export const peakMemory = (pid: number): Promise<number> => statusOf(pid, 'VmHWM')

/** The present resident memory (MB) of the process. */
export const residentMemory = (pid: number): Promise<number> => statusOf(pid, 'VmRSS')

async function statusOf(pid: number, name: 'VmHWM' | 'VmRSS'): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  return Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1] ?? Number.NaN) / 1024
}
