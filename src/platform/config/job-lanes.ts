interface JobLane {
  /** How many of its jobs a process works on at the same time, where nothing else is configured. */
  readonly places: number
  /** What the setting of it says, behind a common beginning. */
  readonly doc: string
}

/**
 * Jobs of a lane have workers of their own, so that none waits behind those of another. A lane is a line here: its setting
 * (`svc.jobs.<lane>`), its workers and its measures come of it.
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

/** How many jobs of each lane run at the same time in one process. */
export type Lanes = Readonly<Record<Lane, number>>

/** The setting of each lane in the configuration of a process. */
export type LaneSettings = { readonly [L in Lane as `jobs${Capitalize<L>}`]: number }

/** What is made of each lane. */
export function ofLanes<T>(make: (lane: Lane) => T): Readonly<Record<Lane, T>> {
  return Object.fromEntries((Object.keys(jobLanes) as Lane[]).map((lane) => [lane, make(lane)])) as Record<Lane, T>
}

export function laneSetting<L extends Lane>(lane: L): `jobs${Capitalize<L>}` {
  return `jobs${lane.charAt(0).toUpperCase()}${lane.slice(1)}` as `jobs${Capitalize<L>}`
}
