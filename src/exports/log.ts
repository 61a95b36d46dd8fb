import type { NewEvent } from '../events/service.ts'
import type { StoredExport } from './model.ts'

/** How the log is told of an export. */
export function about(actor: NewEvent['actor'], { id, version }: Pick<StoredExport, 'id' | 'version'>) {
  return { actor, basetype: 'export', objectId: id, objectVersion: version } as const
}
