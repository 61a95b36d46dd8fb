import { startService, type TestService, type TestServiceOptions } from '../service.ts'
import { commitModel, defineModel, standardPool } from './model.ts'

/** A small museum with every kind of field and link. */
export const museum = () =>
  defineModel(
    {
      person: {
        columns: { name: { type: 'text_oneline', not_null: true }, reference: 'string', born: 'date' },
        unique: [['reference']],
        nested: {
          influence: {
            columns: {
              person: 'link:person',
              active: 'boolean',
              note: 'text_oneline',
            },
            bidirectional: ['person'],
          },
        },
      },
      place: {
        columns: { name: 'text_l10n_oneline', code: 'string' },
        unique: [['code']],
        flags: { is_hierarchical: true },
      },
      topic: { columns: { name: 'text_oneline' }, flags: { polyhierarchical: true } },
      work: {
        columns: {
          title: 'text_l10n_oneline',
          inventory: { type: 'string', check_regexp: '^[A-Z]{1,3}\\d+$' },
          note: { type: 'text', length_max: 2000 },
          width: { type: 'number', check_range_lower: 0 },
          price: 'integer.2',
          weight: 'double',
          signed: 'boolean',
          made: 'date',
          seen: 'datetime',
          period: 'daterange',
          location: 'geo_json',
          image: 'eas',
          vocabulary: 'custom:base.custom-data-type-test.term',
          creator: 'link:person',
          place: { type: 'link:place', on_delete: 'setnull' },
        },
        unique: [['inventory']],
        nested: {
          material: {
            columns: { name: 'text_oneline', amount: 'number', origin: 'link:place' },
            uniqueInParent: ['name'],
            nested: { supplier: { columns: { person: 'link:person', since: 'date' } } },
          },
          topic: { columns: { topic: 'link:topic' } },
        },
        flags: { pool_link: true, has_tags: true, acl_table: true },
      },
      loan: {
        columns: {
          borrower: { type: 'text_oneline', not_null: true },
          due: 'date',
          work: { type: 'link:work', reverse_edit: true, on_delete: 'cascade' },
        },
      },
    },
    {
      work__title_only: { table: 'work', shape: (field, name) => (name === 'work.title' ? field : null) },
      work__loan_dates: { table: 'work', shape: (field, name) => (name === 'loan.borrower' ? null : field) },
      work__loans_shown: {
        table: 'work',
        shape: (field, name) => (name === 'loan:work' ? { ...field, edit: { mode: 'show' } } : field),
      },
    },
  )

export interface Museum extends AsyncDisposable {
  readonly svc: TestService
  readonly pool: number
}

export async function startMuseum(options: TestServiceOptions = {}): Promise<Museum> {
  const svc = await startService(options)
  try {
    await commitModel(svc, museum())
    return { svc, pool: await standardPool(svc), [Symbol.asyncDispose]: () => svc[Symbol.asyncDispose]() }
  } catch (error) {
    await svc[Symbol.asyncDispose]()
    throw error
  }
}

/** Payload of an object: the block under its type, everything else beside it. */
export function payload(objecttype: string, block: object, rest: object = {}): object {
  return { _objecttype: objecttype, _mask: '_all_fields', ...rest, [objecttype]: block }
}

/** A link to an object by its system object id. */
export function link(objecttype: string, systemObjectId: number): object {
  return { _objecttype: objecttype, _mask: '_all_fields', _system_object_id: systemObjectId }
}

export function inPool(id: number): object {
  return { _pool: { pool: { _id: id } } }
}
