import type { VersionPreset } from '../config/service.ts'
import type { Schedule } from '../platform/values/schedule.ts'
import type { ExportBody } from './schema.ts'

export const exportTypes = ['export', 'export_incremental', 'download'] as const
export type ExportType = (typeof exportTypes)[number]

export const exportStates = ['new', 'pending', 'processing', 'done', 'done_with_warnings', 'failed'] as const
export type ExportState = (typeof exportStates)[number]

/** A user or a group to be notified by mail. */
export type Recipient = `u${number}` | `g${number}`

/** A transport of a result, as stored. */
export interface StoredTransport {
  readonly uuid: string
  readonly plugin: string
  /** Sealed options: they contain passwords. */
  readonly sealed: string
  readonly email: { readonly message: string; readonly recipients: readonly Recipient[] } | null
}

export interface StoredExport {
  readonly id: number
  readonly version: number
  readonly userId: number
  readonly name: string
  readonly type: ExportType
  readonly state: ExportState
  readonly body: ExportBody
  readonly schedules: readonly Schedule[]
  readonly transports: readonly StoredTransport[]
  readonly createdAt: Date
  readonly updatedAt: Date
  readonly lastRunAt: Date | null
  readonly lastRelevantRunAt: Date | null
  readonly lastRelevantCount: number | null
  readonly nextRunAt: Date | null
  readonly pluginLog: readonly string[]
  readonly followed: Followed | null
  readonly runId: number | null
}

/** The state up to which an incremental export knows the objects. */
export interface Followed {
  /** Identifies what its user could see: if it changes, everything counts as new. */
  readonly basis: string
  /** Moment of the index. */
  readonly until: number
}

/** A version of a file of an object, and the changes to be made to it for a download. */
export interface AssetSource {
  readonly fileId: number
  readonly hash: string
  readonly version: string
  readonly extension: string
  readonly objUuid: string
  /** Full name of the column of the file. */
  readonly field: string
  readonly metadata: string
  /** A preset of the base configuration, by its name. */
  readonly preset?: string
  /** Settings of a picture, defined in the export itself. */
  readonly custom?: VersionPreset['custom']
}

export interface ExportFile {
  readonly id: number
  readonly runId: number
  readonly folder: string
  readonly name: string
  readonly kind: 'data' | 'asset' | 'plugin'
  readonly contentId: number | null
  readonly mimeType: string
  readonly size: number | null
  readonly createdAt: Date
  readonly systemObjectId: number | null
  readonly source: AssetSource | null
  /** Only plugins see the file. */
  readonly hidden: boolean
  /** The action of its plugin that makes the file for a download. */
  readonly action: string | null
}

/** The path of a file in its export. */
export const pathOf = ({ folder, name }: Pick<ExportFile, 'folder' | 'name'>): string =>
  folder === '' ? name : `${folder}/${name}`

/** Whether there is a result to be fetched. */
export const isDone = (state: ExportState): boolean => state === 'done' || state === 'done_with_warnings'
