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
