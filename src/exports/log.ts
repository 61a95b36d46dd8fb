import type { NewEvent } from '../events/service.ts'
import type { StoredExport } from './model.ts'

/** The members that all log events of an export have. */
export function about(actor: NewEvent['actor'], { id, version }: Pick<StoredExport, 'id' | 'version'>) {
  return { actor, basetype: 'export', objectId: id, objectVersion: version } as const
}
