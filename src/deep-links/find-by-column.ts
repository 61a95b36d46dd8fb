/** Objects by the value of a field. It uses a search, so a caller finds objects only by values that it can see. */
import type { Model } from '../datamodel/model.ts'
import type { Actor } from '../platform/actor.ts'
import { AppError } from '../platform/errors.ts'
import type { JsonAnswer } from '../platform/http/json-answer.ts'
import type { Deadline } from '../platform/limits/deadline.ts'
import type { SearchRequest } from '../search/schema.ts'
import { type ObjectSelector, pathError } from './path.ts'

export interface FindByColumnDeps {
  readonly datamodel: { current(): Model }
  readonly search: (
    actor: Actor,
    request: SearchRequest,
    options: { readonly deadline: Deadline; readonly strict: boolean },
  ) => Promise<JsonAnswer>
}

export function createFindByColumn({ datamodel, search }: FindByColumnDeps) {
  /** @throws {AppError} `ApiObjectPath` for an unknown column, or an invalid value of it */
  return async (
    actor: Actor,
    { objecttype, column, value }: Extract<ObjectSelector, { by: 'column' }>,
    deadline: Deadline,
  ): Promise<readonly number[]> => {
    const field = column.startsWith(`${objecttype}.`) ? column : `${objecttype}.${column}`
    const typed = valueFor(datamodel.current(), objecttype, field, value)
    const request = {
      objecttypes: [objecttype],
      search: [{ type: 'in', fields: [field], in: [typed] }],
      format: 'short',
      limit: 2,
    } as unknown as SearchRequest
    try {
      const { body } = await search(actor, request, { deadline, strict: false })
      const { objects } = JSON.parse(Buffer.concat(body).toString()) as {
        readonly objects: readonly { readonly _system_object_id: number }[]
      }
      return objects.map((object) => object._system_object_id)
    } catch (error) {
      // The search's error message would reveal the datamodel to a stranger.
      if (error instanceof AppError && error.status === 400) throw pathError('no object has this value')
      throw error
    }
  }
}

/** Values in paths are texts; columns may contain numbers. */
function valueFor(model: Model, objecttype: string, field: string, value: string): string | number | boolean {
  const column = model.objecttypes.get(objecttype)?.columns.find(({ fullName }) => fullName === field)
  if (column?.type === 'boolean' && (value === 'true' || value === 'false')) return value === 'true'
  const isNumber = column && ['number', 'double', 'integer.2'].includes(column.type)
  return isNumber && value.trim() !== '' && Number.isFinite(Number(value)) ? Number(value) : value
}
