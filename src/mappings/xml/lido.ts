/** LIDO 1.1. @see https://cidoc.mini.icom.museum/working-groups/lido/lido-overview/lido-schema/ */
import {
  type FixedElement,
  holder,
  nested,
  plain,
  text,
  unit,
  type XmlElement,
  type XmlStructure,
} from './structure.ts'

/** An element with an attribute for its language. */
const speaking = (name: string, children: readonly XmlElement[]): XmlElement =>
  holder(name, children, { saysLanguage: true })

const local = { 'lido:type': 'local' }
const concept = (): readonly XmlElement[] => [plain('conceptID', { attributes: { 'lido:type': 'URI' } }), text('term')]
const appellation = (): readonly XmlElement[] => [text('appellationValue')]
const legalBody = (name: string): XmlElement => nested(`${name}/legalBodyName`, appellation())
const place = (name: string): XmlElement => nested(`${name}/namePlaceSet`, appellation())
const actor = (): XmlElement => nested('actor/nameActorSet', appellation())
const dates = (): readonly XmlElement[] => [
  text('displayDate'),
  holder('date', [
    plain('earliestDate', { kind: 'first', single: true }),
    plain('latestDate', { kind: 'last', single: true }),
  ]),
]
const materials = (name: string): XmlElement =>
  unit(name, [text('displayMaterialsTech'), nested('materialsTech', [holder('termMaterialsTech', concept())])])

const kindOf = (term: string, id?: string): { readonly event: readonly FixedElement[] } => ({
  event: [
    {
      name: 'eventType',
      children: [
        ...(id ? [{ name: 'conceptID', text: id, attributes: { 'lido:type': 'URI' } }] : []),
        { name: 'term', text: term, attributes: { 'xml:lang': 'en' } },
      ],
    },
  ],
})

/** Kinds of events, by the name in brackets. */
const events = {
  production: kindOf('Production', 'http://terminology.lido-schema.org/lido00007'),
  creation: kindOf('Creation'),
  publication: kindOf('Publication'),
  finding: kindOf('Finding'),
  acquisition: kindOf('Acquisition'),
  exhibition: kindOf('Exhibition'),
  use: kindOf('Use'),
}

const event = holder('event', [
  holder('eventName', appellation()),
  unit('eventActor', [
    text('displayActorInRole'),
    holder('actorInRole', [actor(), holder('roleActor', concept())], { needs: 'actor' }),
  ]),
  unit('culture', concept()),
  holder('eventDate', dates()),
  unit('periodName', concept()),
  unit('eventPlace', [text('displayPlace'), place('place')]),
  unit('eventMethod', concept()),
  materials('eventMaterialsTech'),
  unit('eventDescriptionSet', [text('descriptiveNoteValue')]),
])

const descriptive = speaking('descriptiveMetadata', [
  holder('objectClassificationWrap', [
    holder('objectWorkTypeWrap', [unit('objectWorkType', concept())]),
    holder('classificationWrap', [unit('classification', concept())]),
  ]),
  holder('objectIdentificationWrap', [
    holder('titleWrap', [unit('titleSet', appellation())]),
    holder('inscriptionsWrap', [unit('inscriptions', [text('inscriptionTranscription')])]),
    holder('repositoryWrap', [
      unit('repositorySet', [
        text('displayRepository'),
        legalBody('repositoryName'),
        plain('workID', { attributes: local }),
        place('repositoryLocation'),
      ]),
    ]),
    holder('displayStateEditionWrap', [text('displayState'), text('displayEdition')]),
    holder('objectDescriptionWrap', [unit('objectDescriptionSet', [text('descriptiveNoteValue')])]),
    holder('objectMeasurementsWrap', [unit('objectMeasurementsSet', [text('displayObjectMeasurements')])]),
    holder('objectMaterialsTechWrap', [materials('objectMaterialsTechSet')]),
  ]),
  holder('eventWrap', [holder('eventSet', [text('displayEvent'), event], { groups: events })]),
  holder('objectRelationWrap', [
    holder('subjectWrap', [
      unit('subjectSet', [
        text('displaySubject'),
        holder('subject', [
          holder('subjectConcept', concept()),
          holder('subjectActor', [text('displayActor'), actor()]),
          holder('subjectDate', dates()),
          holder('subjectPlace', [text('displayPlace'), place('place')]),
        ]),
      ]),
    ]),
    holder('relatedWorksWrap', [
      unit('relatedWorkSet', [text('displayRelatedWork'), holder('relatedWorkRelType', concept())]),
    ]),
  ]),
])

const administrative = speaking('administrativeMetadata', [
  holder('rightsWorkWrap', [
    unit('rightsWorkSet', [holder('rightsType', concept()), legalBody('rightsHolder'), text('creditLine')]),
  ]),
  holder('recordWrap', [
    plain('recordID', { attributes: local }),
    holder('recordType', concept()),
    legalBody('recordSource'),
    unit('recordRights', [holder('rightsType', concept()), text('creditLine')]),
    unit('recordInfoSet', [plain('recordInfoLink'), plain('recordMetadataDate')]),
  ]),
  holder('resourceWrap', [
    unit('resourceSet', [
      plain('resourceID', { attributes: local }),
      unit('resourceRepresentation', [plain('linkResource', { single: true })]),
      holder('resourceType', concept()),
      text('resourceDescription'),
    ]),
  ]),
])

export const lido: XmlStructure = {
  base: 'http://www.lido-schema.org',
  schema: 'http://www.lido-schema.org/schema/v1.1/lido-v1.1.xsd',
  prefix: 'lido:',
  list: 'lidoWrap',
  root: holder('lido', [
    plain('lidoRecID', { attributes: local }),
    plain('objectPublishedID', { attributes: { 'lido:type': 'URI' } }),
    holder('category', concept()),
    descriptive,
    administrative,
  ]),
}
