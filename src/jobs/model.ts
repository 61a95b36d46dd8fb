export interface JobContext extends Attempt {
  /** The same for all attempts: the key by which a handler recognises work that it has done before. */
  readonly jobId: number
}

export interface Attempt {
  /** 1 for the first attempt. */
  readonly attempt: number
  readonly isLastAttempt: boolean
  /** Aborted when the service stops and the job has not ended within five seconds. */
  readonly signal: AbortSignal
}

export type JobHandler<Payload> = (payload: Payload, context: JobContext) => Promise<void>

/** The end of work whose process has ended in each attempt, so that no attempt could record how it went. */
export interface BrokenOff<Payload> {
  /** Number of attempts of each job of the name. All of them have a key. */
  readonly attempts: number
  /** Records that the work has failed; does nothing when it is over. */
  readonly end: (payload: Payload) => Promise<void>
}

/** The code for a job. */
export interface Registered {
  readonly handler: JobHandler<unknown>
  readonly brokenOff: BrokenOff<unknown> | null
}
