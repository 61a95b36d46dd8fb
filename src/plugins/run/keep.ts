import type { ChildProcess } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { endForeign, startForeign } from '../../platform/process/foreign/start.ts'
import { watchForeign } from '../../platform/process/foreign/watch.ts'
import { readAnswer } from './answer.ts'
import type { ProcessLimits } from './process.ts'

/**
 * Kept programs (`keep: true`): they read a line of JSON for each call and answer with one. A process serves one call at
 * a time. It ends when it was idle for a while, broke a limit, or wrote invalid output.
 */
export type KeptProcesses = ReturnType<typeof createKeptProcesses>

export type KeptAnswer =
  | { readonly kind: 'answer'; readonly body: unknown; readonly errors: string }
  | { readonly kind: 'failed'; readonly reason: string; readonly errors: string }

export interface PersistentCall {
  /** Identifies the processes that may serve the call: those of one callback of one version of a plugin. */
  readonly key: string
  /** The command for a new process. */
  readonly start: () => Promise<{ readonly command: readonly [string, ...string[]]; readonly folder: string }>
  readonly input: Buffer
  readonly limits: ProcessLimits & { /** Bytes of an answer. */ readonly output: number }
  readonly signal: AbortSignal
}

interface Kept {
  readonly child: ChildProcess
  readonly folder: string
  calls: number
  idleSince: number
  said: Buffer[]
  size: number
  errors: string
  onSaid: (() => void) | null
}

/** Milliseconds without work after which a process ends, and calls after which it is replaced. */
const longestIdle = 60_000
const mostCalls = 1000
const mostErrors = 16_000

export function createKeptProcesses() {
  const idle = new Map<string, Kept[]>()
  const all = new Set<Kept>()
  let closed = false
  const sweep = setInterval(() => {
    const before = Date.now() - longestIdle
    for (const [key, list] of idle) {
      for (const kept of list) if (kept.idleSince < before) endForeign(kept.child)
      if (list.length === 0) idle.delete(key)
    }
  }, longestIdle / 4).unref()

  async function start({ start: begin }: PersistentCall, key: string): Promise<Kept> {
    const { command, folder } = await begin()
    const child = startForeign({
      command,
      folder,
      limits: { file: 1_000_000_000 },
      isolate: [],
      online: true,
      stdio: ['pipe', 'pipe', 'pipe', 'ignore'],
      background: false,
    })
    const kept: Kept = {
      child,
      folder,
      calls: 0,
      idleSince: Date.now(),
      said: [],
      size: 0,
      errors: '',
      onSaid: null,
    }
    all.add(kept)
    child.stdin?.on('error', () => {})
    child.stdout?.on('data', (chunk: Buffer) => {
      // Output between calls is not an answer to the next call.
      if (!kept.onSaid) return endForeign(child)
      kept.said.push(chunk)
      kept.size += chunk.length
      kept.onSaid()
    })
    child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
      kept.errors = (kept.errors + chunk).slice(-mostErrors)
    })
    for (const stream of [child.stdout, child.stderr]) stream?.on('error', () => {})
    child.on('error', () => forget(kept, key))
    child.once('exit', () => {
      endForeign(child)
      forget(kept, key)
    })
    unref(kept, true)
    return kept
  }

  function forget(kept: Kept, key: string): void {
    if (!all.delete(kept)) return
    const list = idle.get(key)
    const at = list?.indexOf(kept) ?? -1
    if (at >= 0) list?.splice(at, 1)
    kept.onSaid?.()
    rm(kept.folder, { recursive: true, force: true }).catch(() => {})
  }

  /** An idle process does not keep the service running. */
  function unref({ child }: Kept, off: boolean): void {
    if (off) child.unref()
    else child.ref()
    for (const stream of [child.stdin, child.stdout, child.stderr]) {
      const handle = stream as unknown as { ref?: () => void; unref?: () => void } | null
      if (off) handle?.unref?.()
      else handle?.ref?.()
    }
  }

  async function ask(kept: Kept, call: PersistentCall): Promise<KeptAnswer> {
    const { promise, resolve } = Promise.withResolvers<{ line: Buffer } | { reason: string }>()
    kept.said = []
    kept.size = 0
    kept.errors = ''
    const fail = (reason: string): void => {
      resolve({ reason })
      endForeign(kept.child)
    }
    const onAbort = (): void => fail('was stopped, since nobody waits any more')
    call.signal.addEventListener('abort', onAbort, { once: true })
    const forgetWatch = watchForeign(kept.child, { ...call.limits, output: 1_000_000_000 }, kept.folder, ({ reason }) =>
      fail(reason),
    )
    kept.onSaid = () => {
      if (!all.has(kept)) return resolve({ reason: 'ended before it had answered' })
      const last = kept.said.at(-1)
      if (kept.size > call.limits.output) return fail(`said more than ${call.limits.output} bytes`)
      if (!last?.includes(10)) return
      const text = Buffer.concat(kept.said)
      const end = text.indexOf(10)
      if (end !== text.length - 1) return fail('said more than one line')
      resolve({ line: text.subarray(0, end) })
    }
    unref(kept, false)
    kept.child.stdin?.write(Buffer.concat([call.input, Buffer.from('\n')]))
    try {
      const outcome = await promise
      const { errors } = kept
      if ('reason' in outcome) return { kind: 'failed', reason: outcome.reason, errors }
      const body = await readAnswer(outcome.line)
      if (body !== undefined) return { kind: 'answer', body, errors }
      endForeign(kept.child)
      return { kind: 'failed', reason: 'said something that is no JSON', errors }
    } finally {
      kept.onSaid = null
      forgetWatch()
      call.signal.removeEventListener('abort', onAbort)
      unref(kept, true)
    }
  }

  return {
    /** Passes the call to an idle process, or to a new one. */
    async call(call: PersistentCall): Promise<KeptAnswer> {
      if (closed || call.signal.aborted) return { kind: 'failed', reason: 'was stopped', errors: '' }
      const kept = idle.get(call.key)?.pop() ?? (await start(call, call.key))
      const answer = await ask(kept, call)
      kept.calls++
      kept.idleSince = Date.now()
      if (!all.has(kept)) return answer
      if (closed || kept.calls >= mostCalls || answer.kind === 'failed') endForeign(kept.child)
      else idle.set(call.key, [...(idle.get(call.key) ?? []), kept])
      return answer
    },

    /** Ends the processes without any of these keys: their plugin has changed, or is off. */
    retain(keys: ReadonlySet<string>): void {
      for (const [key, list] of idle) if (!keys.has(key)) for (const { child } of list) endForeign(child)
    },

    async close(): Promise<void> {
      closed = true
      clearInterval(sweep)
      const gone = [...all].map((kept) => new Promise<void>((resolve) => kept.child.once('exit', () => resolve())))
      for (const kept of all) {
        unref(kept, false)
        endForeign(kept.child)
      }
      await Promise.all(gone)
    },
  }
}
