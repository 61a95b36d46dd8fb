import type { ChildProcess } from 'node:child_process'
import { realpathSync } from 'node:fs'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { currentDeadline } from '../../../platform/limits/deadline.ts'
import { createShares } from '../../../platform/limits/shares.ts'
import { endForeign, startForeign } from '../../../platform/process/foreign/start.ts'
import { watchForeign } from '../../../platform/process/foreign/watch.ts'
import { CannotMake } from './failure.ts'
import type { Answer, Order, ResultOf, Task } from './tasks.ts'

export interface WorkLimits {
  /** Bytes of memory of one process. */
  readonly memory: number
  /** Seconds that a task may take. */
  readonly seconds: number
  /** The same for a vector drawing: a few lines of it can be a lot of work. */
  readonly drawingSeconds: number
  /** Pixels of the pictures that are read. */
  readonly pixels: number
  /** Bytes of the output. */
  readonly output: number
}

export interface WorkersOptions {
  /** Tasks that are worked on at the same time, each by its own process; one more for callers with no task in progress. */
  readonly most: number
  readonly limits: WorkLimits
  /** Runs with lower priority than all other processes of the machine. */
  readonly background: boolean
  /** The folder for the tasks' folders: the processes write nowhere else. */
  readonly place: string
  /** The command that runs them without a network. */
  readonly isolate?: readonly string[]
  /** Seconds after which a process without work ends: it takes some 60 MB, and to start one takes half a second. */
  readonly idle?: number
}

export type Workers = ReturnType<typeof createWorkers>

interface Worker {
  readonly child: ChildProcess
  tasks: number
  idleSince: number
}

/** Tasks after which a process is replaced: memory leaked by libraries is freed with it. */
const mostTasks = 500

/** V8's heap: it does not contain pixels, and little else is allocated there. */
const heap = ['--max-old-space-size=512', '--max-semi-space-size=1']

/**
 * Settings of glibc's allocator for the buffers that libvips takes and frees with each picture: one arena, and large
 * blocks that go back to the system at once. Without them, a process that made all renditions of twelve photographs of 2
 * to 9 million pixels had 299 MB at the end, and 333 at most; with them 102 and 156, in the same time.
 */
const allocator = {
  MALLOC_ARENA_MAX: '1',
  MALLOC_MMAP_THRESHOLD_: '65536',
  MALLOC_TRIM_THRESHOLD_: '65536',
}

/** Processes that work on media. A process is started when there is work and none is idle, and is kept until it is not needed. */
export function createWorkers(options: WorkersOptions) {
  const { most, limits, background, idle: idleSeconds = 30, isolate = [] } = options
  const shares = createShares(most)
  const place = realpathSync(options.place)
  const longestIdle = 1000 * idleSeconds
  const idle: Worker[] = []
  const all = new Set<Worker>()
  let nextId = 1
  let closed = false

  const sweep = setInterval(() => {
    const before = Date.now() - longestIdle
    while (idle[0] && idle[0].idleSince < before) end(idle.shift() as Worker)
  }, longestIdle / 3).unref()

  function start(): Worker {
    const script = fileURLToPath(new URL(`./process${extname(import.meta.url)}`, import.meta.url))
    const child = startForeign({
      command: [process.execPath, ...heap, ...permissions(place), script],
      folder: place,
      // Time and memory are watched for each task, since a process serves many tasks, and reserves more memory than it
      // uses.
      limits: { file: limits.output },
      isolate,
      environment: { NODE_NO_WARNINGS: '1', VIPS_BLOCK_UNTRUSTED: '1', ...allocator },
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      background,
    })
    const worker = { child, tasks: 0, idleSince: Date.now() }
    all.add(worker)
    child.once('exit', () => {
      all.delete(worker)
      const at = idle.indexOf(worker)
      if (at >= 0) idle.splice(at, 1)
    })
    // Also reported by `exit`.
    child.on('error', () => {})
    // An idle process does not keep the service running.
    child.unref()
    child.channel?.unref()
    return worker
  }

  function end({ child }: Worker): void {
    endForeign(child)
  }

  /** Runs a task when its user has a free place. @throws {CannotMake} when it cannot be done, and trying again would not help. */
  async function run<T extends Task>(task: T, signal?: AbortSignal, who = currentDeadline().who): Promise<ResultOf<T>> {
    return shares.run(
      who,
      async () => {
        if (closed || signal?.aborted) throw new Error('the work on media was stopped')
        const worker = idle.pop() ?? start()
        const result = await perform(worker, task, signal)
        worker.tasks++
        worker.idleSince = Date.now()
        if (!worker.child.connected) end(worker)
        else if (closed || worker.tasks >= mostTasks) end(worker)
        else idle.push(worker)
        return result as ResultOf<T>
      },
      signal,
    )
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
        const { kind, reason, needs, late } = answer.failure
        outcome.reject(new CannotMake(kind, reason, { needs, late }))
        // The process stays; only processes that broke a limit end.
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
    const own = limitsOf(task, limits)
    const forget = watchForeign(child, own, 'folder' in task ? task.folder : null, ({ limit, reason }) =>
      fail(new CannotMake('unreadable', `it ${reason}`, { late: limit === 'time' })),
    )
    const order: Order = { id, task, limits: { ...own, pixels: limits.pixels } }
    child.send(order, (error) => {
      if (error) onExit()
    })
    child.ref()
    return outcome.promise.finally(() => {
      forget()
      child.unref()
      child.off('message', onAnswer)
      child.off('exit', onExit)
      signal?.removeEventListener('abort', onAbort)
    })
  }

  return {
    run,

    /** Starts a process if there is none, since work will come soon. */
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

function limitsOf(task: Task, { seconds, drawingSeconds, memory, output }: WorkLimits) {
  const drawing = task.source.extension === 'svg' && task.kind !== 'tags'
  return { seconds: drawing ? Math.min(drawingSeconds, seconds) : seconds, memory, output }
}

/** Permissions of JavaScript in the process: read, write in its folder, and start ExifTool; no network. */
function permissions(place: string): string[] {
  const allowed = ['fs-read=*', `fs-write=${place}`, 'addons', 'child-process']
  return ['--permission', ...allowed.map((one) => `--allow-${one}`)]
}
