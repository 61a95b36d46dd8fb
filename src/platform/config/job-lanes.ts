interface JobLane {
  /** Number of jobs of the lane that a process runs at the same time, by default. */
  readonly places: number
  /** The end of the setting's description, after a common beginning. */
  readonly doc: string
}

/**
 * Each lane of jobs has separate workers, so that no job waits behind those of another lane. A lane is a line here: its setting
 * (`svc.jobs.<lane>`), its workers and its metrics are derived from it.
 */
export const jobLanes = {
  quick: { places: 4, doc: 'the quick lane (mails, transitions): what somebody waits for and takes moments.' },
  webhook: { places: 4, doc: 'the webhook lane: receivers that are slow keep nothing else waiting.' },
  standard: { places: 2, doc: 'the standard lane: upkeep.' },
  export: { places: 2, doc: 'the export lane: runs of exports, which take their time.' },
  preview: { places: 2, doc: 'the preview lane: the first renditions of files, which somebody waits for.' },
  media: {
    places: 2,
    doc: 'the media lane (the other renditions). Each takes a process of its own, behind those of previews.',
  },
  backup: { places: 1, doc: 'the backup lane: backups that are made over the interface.' },
  task: { places: 1, doc: 'the task lane: runs of tasks, which may take hours.' },
} as const satisfies Record<string, JobLane>

export type Lane = keyof typeof jobLanes

/** The number of jobs of each lane that run at the same time in one process. */
export type Lanes = Readonly<Record<Lane, number>>

/** The setting of each lane in the configuration of a process. */
export type LaneSettings = { readonly [L in Lane as `jobs${Capitalize<L>}`]: number }

/** A value for each lane. */
export function ofLanes<T>(make: (lane: Lane) => T): Readonly<Record<Lane, T>> {
  return Object.fromEntries((Object.keys(jobLanes) as Lane[]).map((lane) => [lane, make(lane)])) as Record<Lane, T>
}

export function laneSetting<L extends Lane>(lane: L): `jobs${Capitalize<L>}` {
  return `jobs${lane.charAt(0).toUpperCase()}${lane.slice(1)}` as `jobs${Capitalize<L>}`
}
