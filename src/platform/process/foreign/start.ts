/**
 * Starts programs that read untrusted data (docs/architecture.md, "Foreign programs"): with limits of the system, without the
 * service's environment, without a network where the machine supports this, in a separate process group that ends as a whole, even
 * when the service is killed and cannot end it.
 */
import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process'
import { constants, setPriority } from 'node:os'

export interface SystemLimits {
  /** Bytes of one file that it writes. */
  readonly file?: number
  /** Seconds of processor time of one process. */
  readonly processor?: number
  /** Bytes of address space of one process; only for programs that do not reserve more than they use. */
  readonly addresses?: number
}

export interface ForeignStart {
  /** The program and its arguments. */
  readonly command: readonly [string, ...string[]]
  /** The working folder: the program is given no other paths. */
  readonly folder: string
  readonly limits: SystemLimits
  /** A prefix of the command that takes away the network; see `withoutNetwork`. */
  readonly isolate: readonly string[]
  /** Variables in addition to a path, a language, and the folder as home. */
  readonly environment?: Readonly<Record<string, string>>
  /** The first four streams: input, output, errors and a channel for messages. */
  readonly stdio: readonly ['pipe' | 'ignore', 'pipe' | 'ignore', 'pipe' | 'ignore', 'ipc' | 'ignore']
  /** The program may reach other servers: never set for programs that read untrusted files. */
  readonly online?: boolean
  /** Runs with a lower priority than other programs. */
  readonly background: boolean
}

/**
 * A shell sets the limits and becomes the program. Beside it, another shell waits for the end of a pipe, whose other end only the
 * service has: when the service has ended, for whatever reason, it ends the group. A limit that the system does not know is left
 * out.
 */
const guard = `
( exec 3<&-; read -r _ <&4; kill -KILL 0 ) </dev/null >/dev/null 2>&1 &
ulimit -c 0 2>/dev/null
[ -z "$1" ] || ulimit -f "$1" 2>/dev/null
[ -z "$2" ] || ulimit -t "$2" 2>/dev/null
[ -z "$3" ] || ulimit -v "$3" 2>/dev/null
shift 3
exec "$@" 4<&-`

/** A dead address for programs that use a proxy. */
const nowhere = { http_proxy: 'http://127.0.0.1:9', https_proxy: 'http://127.0.0.1:9', all_proxy: 'http://127.0.0.1:9' }

export function startForeign({
  command,
  folder,
  limits: { file, processor, addresses },
  isolate,
  environment,
  stdio,
  online = false,
  background,
}: ForeignStart): ChildProcess {
  const numbers = [inUnits(file, 512), inUnits(processor, 1), inUnits(addresses, 1024)]
  const streams: StdioOptions = [...stdio, 'pipe']
  const child = spawn('/bin/sh', ['-c', guard, 'sh', ...numbers, ...isolate, ...command], {
    cwd: folder,
    stdio: streams,
    serialization: 'advanced',
    env: {
      PATH: process.env.PATH,
      HOME: folder,
      TMPDIR: folder,
      LANG: 'C.UTF-8',
      ...(online ? {} : nowhere),
      ...environment,
    },
    detached: true,
  })
  // The pipe must not keep this process alive; it breaks when the program ends.
  const leash = child.stdio[4]
  leash?.on('error', () => {})
  if (leash && 'unref' in leash && typeof leash.unref === 'function') leash.unref()
  if (background) lowerPriority(child)
  return child
}

/** Ends a program and all processes that it has started. */
export function endForeign({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {
    // All of it has ended by itself.
  }
}

/** In the units of `ulimit`. */
function inUnits(amount: number | undefined, unit: number): string {
  return amount === undefined ? '' : `${Math.max(1, Math.ceil(amount / unit))}`
}

function lowerPriority({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL)
  } catch {
    // It has ended already, or the system does not let us.
  }
}
