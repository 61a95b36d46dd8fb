import { Type } from 'typebox'
import { type ContextDefinition, type RightContext, type RightDefinition, rightsCatalogue } from './catalogue.ts'
import type { PresetContext } from './presets/model.ts'
import { PresetOutput } from './presets/schema.ts'

const open = { additionalProperties: true } as const
const Form = Type.Record(Type.String(), Type.String(), { description: 'Empty: entries cannot carry it here.' })

const RightOutput = Type.Object(
  {
    type: Type.String(),
    name: Type.String(),
    comment: Type.String(),
    group: Type.String({ description: 'Rights of one group stand together in a permission editor.' }),
    has_grantable: Type.Boolean({ description: 'Its parameters may have `_grantable`.' }),
    parameters: Type.Array(
      Type.Object(
        {
          name: Type.String(),
          type: Type.String(),
          comment: Type.String(),
          choices: Type.Array(Type.String()),
          merge_policy: Type.String({ description: 'How several grants combine: empty, the wider one.' }),
        },
        open,
      ),
    ),
    rights: Type.Array(Type.Object({}, open), { description: 'Rights that belong below this one.' }),
  },
  { ...open, title: 'RightDefinition' },
)

const ContextOutput = Type.Object(
  {
    capabilities: Type.Object({ active: Form, preset: Form, tagfilter: Form, valid: Form, sticky: Form }),
    rights: Type.Array(RightOutput),
    presets: Type.Array(PresetOutput),
  },
  { ...open, title: 'RightContext', description: 'Which rights a list of grants of this context can give, and how.' },
)

const contexts = Object.keys(rightsCatalogue) as RightContext[]

export const RightsDocument = Type.Object(
  Object.fromEntries(contexts.map((context) => [context, ContextOutput])) as Record<RightContext, typeof ContextOutput>,
  { title: 'RightsCatalogue' },
)

/** The types of the optional parts of a grant. */
const forms = {
  active: { type: 'bool' },
  preset: { type: 'right_preset' },
  tagfilter: { type: 'tagfilter' },
  valid: { type: 'period' },
  sticky: { type: 'bool' },
} as const

const fixed = contexts.map((context) => [context, renderContext(rightsCatalogue[context])] as const)

/** The catalogue of rights: for every caller the same. */
export function rightsDocument(
  presets: ReadonlyMap<PresetContext, PresetOutput[]>,
  addedSystemRights: readonly RightDefinition[],
) {
  const added = addedSystemRights.map(renderRight)
  return Object.fromEntries(
    fixed.map(([context, shown]) => {
      const rights = context === 'system' ? [...shown.rights, ...added] : shown.rights
      return [context, { ...shown, rights, presets: presets.get(context as PresetContext) ?? [] }]
    }),
  ) as Record<RightContext, ReturnType<typeof renderContext> & { presets: PresetOutput[] }>
}

function renderContext({ capabilities, rights }: ContextDefinition) {
  const form = (name: keyof typeof forms) => (capabilities[name] ? forms[name] : {})
  return {
    capabilities: {
      active: form('active'),
      preset: form('preset'),
      tagfilter: form('tagfilter'),
      valid: form('valid'),
      sticky: form('sticky'),
    },
    rights: rights.map(renderRight),
  }
}

function renderRight({ name, comment, group, grantable, parameters }: RightDefinition) {
  return {
    type: 'right',
    name,
    comment,
    group,
    has_grantable: grantable,
    parameters: parameters.map(({ name: parameter, type, comment: about, choices = [], mergePolicy }) => ({
      name: parameter,
      type,
      comment: about,
      choices: [...choices],
      merge_policy: mergePolicy,
    })),
    rights: [],
  }
}
