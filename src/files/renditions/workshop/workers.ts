import { type ChildProcess, fork } from 'node:child_process'
import { tmpdir } from 'node:os'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { CannotMake } from './failure.ts'
import type { Answer, Order, ResultOf, Task } from './tasks.ts'
import { megabytes, memoryOf, sizeOf } from './usage.ts'

export interface WorkLimits {
  /** Bytes of memory of one process. */
  readonly memory: number
  /** Seconds that a task may take. */
  readonly seconds: number
  /** Pixels of what is read. */
  readonly pixels: number
  /** Bytes of what is made. */
  readonly output: number
}

export interface WorkersOptions {
  /** Tasks that are worked on at the same time, each by a process of its own. */
  readonly most: number
  readonly limits: WorkLimits
  /** Behind everything else on the machine. */
  readonly background: boolean
  /** Seconds after which a process without work ends: it takes some 60 MB, and to start one takes half a second. */
  readonly idle?: number
}

export type Workers = ReturnType<typeof createWorkers>

interface Worker {
  readonly child: ChildProcess
  tasks: number
  idleSince: number
}

/** Milliseconds between two looks at what a process takes. */
const watchEvery = 100
/** Looks at its memory for each at what it has made, which takes longer. */
const looksPerFolder = 5
/** Tasks after which a process is replaced: what libraries lose on the way goes with it. */
const mostTasks = 500

/** Processes that work on media. One is started when there is work and none is free, and serves until it is not needed. */
export function createWorkers({ most, limits, background, idle: idleSeconds = 30 }: WorkersOptions) {
  const longestIdle = 1000 * idleSeconds
  const idle: Worker[] = []
  const all = new Set<Worker>()
  const waiting: (() => void)[] = []
  let busy = 0
  let nextId = 1
  let closed = false

  const sweep = setInterval(() => {
    const before = Date.now() - longestIdle
    while (idle[0] && idle[0].idleSince < before) end(idle.shift() as Worker)
  }, longestIdle / 3).unref()

  function start(): Worker {
    const child = fork(fileURLToPath(new URL(`./process${extname(import.meta.url)}`, import.meta.url)), [], {
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      // Nothing of the service's environment: its secrets are of no use to pictures.
      env: {
        PATH: process.env.PATH,
        HOME: tmpdir(),
        TMPDIR: tmpdir(),
        NODE_NO_WARNINGS: '1',
        VIPS_BLOCK_UNTRUSTED: '1',
        ...(background ? { BACKGROUND: '1' } : {}),
      },
      execArgv: ['--max-old-space-size=512'],
    })
    const worker = { child, tasks: 0, idleSince: Date.now() }
    all.add(worker)
    child.once('exit', () => {
      all.delete(worker)
      const at = idle.indexOf(worker)
      if (at >= 0) idle.splice(at, 1)
    })
    // Told by `exit`, too.
    child.on('error', () => {})
    // Nobody waits for a process that has nothing to do.
    child.unref()
    child.channel?.unref()
    return worker
  }

  function end({ child }: Worker): void {
    child.kill('SIGKILL')
  }

  async function place(): Promise<void> {
    if (busy < most) {
      busy++
      return
    }
    await new Promise<void>((resolve) => waiting.push(resolve))
  }

  function leave(): void {
    const next = waiting.shift()
    if (next) next()
    else busy--
  }

  /** @throws {CannotMake} when it cannot be done, and would not be another time. */
  async function run<T extends Task>(task: T, signal?: AbortSignal): Promise<ResultOf<T>> {
    await place()
    try {
      if (closed || signal?.aborted) throw new Error('the work on media was stopped')
      const worker = idle.pop() ?? start()
      const result = await perform(worker, task, signal)
      worker.tasks++
      worker.idleSince = Date.now()
      if (!worker.child.connected) end(worker)
      else if (closed || worker.tasks >= mostTasks) end(worker)
      else idle.push(worker)
      return result as ResultOf<T>
    } finally {
      leave()
    }
  }

  function perform(worker: Worker, task: Task, signal?: AbortSignal): Promise<unknown> {
    const { child } = worker
    const id = nextId++
    const outcome = Promise.withResolvers<unknown>()
    const fail = (error: Error): void => {
      outcome.reject(error)
      end(worker)
    }
    const onAnswer = (answer: Answer): void => {
      if (answer.id !== id) return
      if ('result' in answer) outcome.resolve(answer.result)
      else {
        const { kind, reason, needs } = answer.failure
        outcome.reject(new CannotMake(kind, reason, { needs }))
        // It works on; only those that broke a limit end.
        worker.idleSince = Date.now()
        if (child.connected && !closed) idle.push(worker)
      }
    }
    const onExit = (): void => {
      outcome.reject(new CannotMake('unreadable', 'the process that worked on the file ended unexpectedly'))
    }
    const onAbort = (): void => fail(new Error('the work on media was stopped'))
    child.on('message', onAnswer)
    child.once('exit', onExit)
    signal?.addEventListener('abort', onAbort, { once: true })
    const watch = watchWorker(child, task, limits, fail)
    const order: Order = { id, task, limits: { pixels: limits.pixels } }
    child.send(order, (error) => {
      if (error) onExit()
    })
    child.ref()
    return outcome.promise.finally(() => {
      watch()
      child.unref()
      child.off('message', onAnswer)
      child.off('exit', onExit)
      signal?.removeEventListener('abort', onAbort)
    })
  }

  return {
    run,

    /** Starts a process where none is there, since work will come soon. */
    warm(): void {
      if (!closed && all.size === 0) idle.push(start())
    },

    async close(): Promise<void> {
      closed = true
      clearInterval(sweep)
      const gone = [...all].map((worker) => new Promise<void>((resolve) => worker.child.once('exit', () => resolve())))
      for (const worker of all) {
        worker.child.ref()
        end(worker)
      }
      await Promise.all(gone)
    },
  }
}

/** Ends the process when it takes more than it may. Memory is only seen where the system shows it (Linux). */
function watchWorker(child: ChildProcess, task: Task, limits: WorkLimits, fail: (error: Error) => void): () => void {
  const deadline = setTimeout(
    () => fail(new CannotMake('unreadable', `it took more than ${limits.seconds} seconds`)),
    1000 * limits.seconds,
  )
  const folder = 'folder' in task ? task.folder : null
  let looking = false
  let looks = 0
  const look = setInterval(async () => {
    // On a busy machine one look may take longer than the pause between two.
    if (looking) return
    looking = true
    try {
      if ((await memoryOf(child.pid)) > limits.memory) {
        fail(new CannotMake('unreadable', `it took more than ${megabytes(limits.memory)} MB of memory`))
      } else if (folder !== null && ++looks % looksPerFolder === 0 && (await sizeOf(folder)) > limits.output) {
        fail(new CannotMake('unreadable', `it made more than ${megabytes(limits.output)} MB`))
      }
    } finally {
      looking = false
    }
  }, watchEvery)
  return () => {
    clearTimeout(deadline)
    clearInterval(look)
  }
}
