import { SingleBar } from 'cli-progress'

/** Shows the progress of long work: a bar on a terminal, otherwise a line now and then. */
export interface Progress {
  /** Begins a step of `total` units; the step before it ends. */
  start(label: string, total: number): void
  advance(count: number): void
  /** Ends the step; later lines are printed below it. */
  stop(): void
  say(line: string): void
}

export interface ProgressOutput {
  write(text: string): unknown
  isTTY?: boolean
}

export function createProgress(out: ProgressOutput & NodeJS.WritableStream): Progress {
  return out.isTTY ? bars(out) : lines(out)
}

/** No output at all. */
export const silentProgress: Progress = { start: () => {}, advance: () => {}, stop: () => {}, say: () => {} }

function bars(stream: NodeJS.WritableStream): Progress {
  let step: { bar: SingleBar; total: number; done: number; begun: number } | null = null
  const stop = (): void => {
    step?.bar.stop()
    step = null
  }
  return {
    start(label, total) {
      stop()
      const format = `${label.padEnd(12)} {bar} {percentage} %  {value}/{total}{pace}`
      const bar = new SingleBar({ stream, format, hideCursor: true })
      bar.start(total, 0, { pace: '' })
      step = { bar, total, done: 0, begun: Date.now() }
    },
    advance(count) {
      if (!step) return
      step.done += count
      step.bar.update(step.done, { pace: paceText(step.done, step.total, (Date.now() - step.begun) / 1000) })
    },
    stop,
    say(line) {
      stop()
      stream.write(`${line}\n`)
    },
  }
}

/** The speed and the remaining time. Empty while they are unknown: before the first unit, and in the first moment. */
export function paceText(done: number, total: number, seconds: number): string {
  if (!(done > 0 && seconds > 0.05)) return ''
  const rate = done / seconds
  const pace = `  ${rate < 10 ? rate.toFixed(1) : Math.round(rate)}/s`
  const left = Math.ceil((total - done) / rate)
  return left > 0 ? `${pace}  ${durationText(left)} left` : pace
}

/** `48 s`, `3 min`, `2 h 5 min`. */
function durationText(seconds: number): string {
  if (seconds < 100) return `${seconds} s`
  const minutes = Math.ceil(seconds / 60)
  return minutes < 100 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

/** A line at the start, one at each tenth, but not more than one a second; always one at the end. */
function lines(out: ProgressOutput): Progress {
  let step: { label: string; total: number; done: number; begun: number; told: number; toldAt: number } | null = null
  const tell = (): void => {
    if (!step) return
    out.write(
      `${step.label}: ${step.done} of ${step.total}${paceText(step.done, step.total, (Date.now() - step.begun) / 1000)}\n`,
    )
    step.told = step.done
    step.toldAt = Date.now()
  }
  const stop = (): void => {
    if (step && step.done > step.told) tell()
    step = null
  }
  return {
    start(label, total) {
      stop()
      step = { label, total, done: 0, begun: Date.now(), told: 0, toldAt: Date.now() }
      // Printed before it begins: the first units may take a while.
      if (total > 0) out.write(`${label}: ${total} to do\n`)
    },
    advance(count) {
      if (!step) return
      step.done += count
      if (step.done - step.told >= step.total / 10 && Date.now() - step.toldAt >= 1000) tell()
    },
    stop,
    say(line) {
      stop()
      out.write(`${line}\n`)
    },
  }
}
