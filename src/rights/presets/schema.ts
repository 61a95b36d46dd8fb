import { type Static, Type } from 'typebox'
import { GeneratedRightsApi } from '../schema.ts'
import { presetContexts } from './model.ts'

const open = { additionalProperties: true } as const
const nullable = <const T extends Type.TSchema>(schema: T) => Type.Optional(Type.Union([schema, Type.Null()]))
const Id = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })
const position = Type.Integer({ minimum: -(2 ** 31), maximum: 2 ** 31 - 1 })
const texts = (maxLength: number) =>
  nullable(Type.Record(Type.String({ maxLength: 35 }), Type.Union([Type.String({ maxLength }), Type.Null()])))
const TagIds = Type.Array(Id, { maxItems: 1000 })

export const ContextParams = Type.Object({
  context: Type.Union(
    presetContexts.map((context) => Type.Literal(context)),
    { description: 'Where grants can be made from the presets.' },
  ),
})

export const PresetParams = Type.Object({
  ...ContextParams.properties,
  presetId: Type.Integer({ ...Id, description: 'Id of the preset.' }),
})

export const PresetDeleteQuery = Type.Object({
  confirm: Type.Optional(
    Type.Literal('delete', { description: 'Answers the question: the grants made from it are deleted as well.' }),
  ),
})

export const PresetInput = Type.Object(
  {
    _basetype: Type.Optional(Type.Literal('right_preset')),
    right_preset: Type.Object(
      {
        _id: nullable(Id),
        _version: nullable(Type.Integer({ minimum: 0, maximum: 2 ** 31 - 1 })),
        _position: nullable(position),
        displayname: texts(1000),
        description: texts(10_000),
        preset: Type.Optional(
          Type.Object(
            {
              default_expiration_hours: nullable(Type.Integer({ minimum: 0, maximum: 1_000_000 })),
              share_url: nullable(
                Type.String({
                  maxLength: 2000,
                  description:
                    'Of collections: the base of links in place of the external address. Its origin is that, or in `svc.services.webapp.loginAllowRedirects`. Of objects it is kept for front ends.',
                }),
              ),
              rights: Type.Optional(Type.Object({}, open)),
              tagfilter: nullable(
                Type.Object(
                  { all: nullable(TagIds), any: nullable(TagIds), not: nullable(TagIds), changed: nullable(TagIds) },
                  open,
                ),
              ),
            },
            { ...open, description: 'What a grant takes over; as a whole in place of what is stored.' },
          ),
        ),
      },
      open,
    ),
  },
  { ...open, title: 'RightPresetInput', description: 'A preset to create or to change.' },
)
export type PresetInput = Static<typeof PresetInput>

export const PresetBatch = Type.Array(PresetInput, { maxItems: 1000 })

const Texts = Type.Record(Type.String(), Type.String())
const Tags = Type.Array(Type.Integer())

export const PresetOutput = Type.Object(
  {
    _basetype: Type.Literal('right_preset'),
    right_preset: Type.Object({
      _id: Type.Integer(),
      _version: Type.Integer(),
      _position: Type.Integer(),
      displayname: Texts,
      description: Texts,
      preset: Type.Object({
        default_expiration_hours: Type.Integer({ description: '0: grants made from it do not end by themselves.' }),
        share_url: Type.String({ description: 'The base of links to collections; empty: the external address.' }),
        rights: GeneratedRightsApi,
        tagfilter: Type.Object({ all: Tags, any: Tags, not: Tags, changed: Tags }),
      }),
    }),
    _created_at: Type.String(),
    _updated_at: Type.String(),
  },
  { title: 'RightPreset', description: 'Rights that administrators have put together.' },
)
export type PresetOutput = Static<typeof PresetOutput>
