import { SingleBar } from 'cli-progress'

/** Shows how far long work is: a bar on a terminal, now and then a line anywhere else. */
export interface Progress {
  /** Begins a step of `total` units; the step before it ends. */
  start(label: string, total: number): void
  advance(count: number): void
  /** Ends the step; what is said afterwards stands below it. */
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
  let step: { bar: SingleBar; done: number; begun: number } | null = null
  const stop = (): void => {
    step?.bar.stop()
    step = null
  }
  return {
    start(label, total) {
      stop()
      const format = `${label.padEnd(12)} {bar} {percentage} %  {value}/{total}  {rate}/s  {eta_formatted} left`
      const bar = new SingleBar({ stream, format, hideCursor: true, etaBuffer: 100 })
      bar.start(total, 0, { rate: 0 })
      step = { bar, done: 0, begun: Date.now() }
    },
    advance(count) {
      if (!step) return
      step.done += count
      const seconds = Math.max(0.001, (Date.now() - step.begun) / 1000)
      step.bar.update(step.done, { rate: Math.round(step.done / seconds) })
    },
    stop,
    say(line) {
      stop()
      stream.write(`${line}\n`)
    },
  }
}

/** A line at each tenth, but not more than one a second; always one at the end. */
function lines(out: ProgressOutput): Progress {
  let step: { label: string; total: number; done: number; begun: number; told: number; toldAt: number } | null = null
  const tell = (): void => {
    if (!step) return
    const seconds = (Date.now() - step.begun) / 1000
    const rate = seconds > 0.05 ? `, ${Math.round(step.done / seconds)}/s` : ''
    out.write(`${step.label}: ${step.done} of ${step.total}${rate}\n`)
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
