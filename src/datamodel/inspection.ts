import type { Queryable } from '../platform/postgres/db.ts'

export interface InspectedDatamodel {
  readonly version: number
  readonly committed_at: Date
  readonly committed_by: number | null
}

/** The committed versions of the datamodel, newest first. */
export async function datamodelVersions(from: Queryable, limit: number): Promise<InspectedDatamodel[]> {
  const { rows } = await from.query<InspectedDatamodel>(
    'select version, committed_at, committed_by from datamodel_version order by version desc limit $1',
    [limit],
  )
  return rows
}
