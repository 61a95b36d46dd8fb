import { withoutEnds } from '../platform/values/text.ts'
import { renderWho, type WhoNames } from '../rights/service.ts'
import { type ExportFile, pathOf, type StoredExport, type StoredTransport } from './model.ts'
import type { Run } from './runs.ts'
import type { ExportOutput } from './schema.ts'
import { type Options, packageOf, packerOf, shownOptions } from './transports/options.ts'

/** Data for the answer besides the stored export itself. */
export interface ExportContext {
  readonly run: Run | null
  readonly files: readonly ExportFile[]
  readonly filesCount: number
  readonly log: readonly unknown[]
  readonly names: WhoNames
  /** Options of transports by uuid; null where no key opens them. */
  readonly options: ReadonlyMap<string, Options | null>
  readonly externalUrl: string
}

export function renderExport(stored: StoredExport, around: ExportContext): ExportOutput {
  const { id, version, name, type, body, schedules, transports } = stored
  return {
    _basetype: 'export',
    export: {
      _id: id,
      _version: version,
      type,
      name,
      ...body,
      csv: body.csv ?? false,
      xlsx: body.xlsx ?? false,
    } as ExportOutput['export'],
    _user: renderWho(`u${stored.userId}`, around.names),
    _date_created: stored.createdAt.toISOString(),
    _last_updated_at: stored.updatedAt.toISOString(),
    ...moment('_last_run_at', stored.lastRunAt),
    ...(stored.lastRelevantCount === null ? {} : { _last_relevant_object_count: stored.lastRelevantCount }),
    ...moment('_last_relevant_run_at', stored.lastRelevantRunAt),
    ...moment('_next_run_at', stored.nextRunAt),
    _state: stored.state,
    ...progressOf(stored, around.run),
    _plugin_log: [...stored.pluginLog],
    _files: around.files.map((file) => ({
      path: pathOf(file),
      ...(file.size === null ? {} : { size: file.size }),
      date_created: file.createdAt.toISOString(),
    })),
    _files_count: around.filesCount,
    _log: [...around.log],
    _transports: transports.map((transport) => renderTransport(id, transport, around)),
    _schedules: schedules.map((schedule) => ({ ...schedule })) as ExportOutput['_schedules'],
  }
}

const moment = (name: string, at: Date | null) => (at ? { [name]: at.toISOString() } : {})

function progressOf({ state }: StoredExport, run: Run | null) {
  if (!run || (state !== 'pending' && state !== 'processing')) return {}
  return { _progress: { step: run.step, done: run.position, total: run.total } }
}

function renderTransport(id: number, transport: StoredTransport, { names, options, externalUrl }: ExportContext) {
  const { uuid, plugin, email } = transport
  const own = options.get(uuid) ?? {}
  return {
    plugin,
    options: shownOptions(own),
    uuid,
    external_url: transportUrl(externalUrl, id, transport, own),
    ...(email === null
      ? {}
      : { email: { message: email.message, recipients: email.recipients.map((who) => renderWho(who, names)) } }),
  }
}

/** A name for the archive that every server accepts. */
export function archiveName({ name, id }: Pick<StoredExport, 'name' | 'id'>): string {
  const safe = name.normalize('NFC').replaceAll(/[^\p{L}\p{N}._-]+/gu, '_')
  const plain = withoutEnds(safe, '._').slice(0, 100)
  return plain === '' ? `export-${id}` : plain
}

/** The address of the result; it needs no token. */
export function transportUrl(
  externalUrl: string,
  id: number,
  { uuid, plugin }: Pick<StoredTransport, 'uuid' | 'plugin'>,
  options: Options,
): string {
  const packer = plugin === '' ? packerOf(options) : 'zip'
  const packed = plugin === '' && packer !== 'files' ? packageOf(options) : null
  const query = packed ? `?package=${packed}` : ''
  return `${externalUrl}/api/v1/export/${id}/uuid/${uuid}/${packer === 'files' ? 'file' : packer}/${query}`
}
