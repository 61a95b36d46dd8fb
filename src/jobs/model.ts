/**
 * `quick`: what somebody waits for and takes moments (mails, transitions). `webhook`: calls of receivers, which may be slow. `standard`: upkeep. `preview`: the first
 * renditions of files, which somebody waits for. `media`: the other ones, which take seconds or minutes.
 */
export const lanes = ['quick', 'webhook', 'standard', 'preview', 'media'] as const
export type Lane = (typeof lanes)[number]

/** How many jobs of each lane run at the same time in one process. */
export type Lanes = Readonly<Record<Lane, number>>

export interface JobContext extends Attempt {
  /** Constant over all attempts: the key by which a handler recognises work that it has done before. */
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
