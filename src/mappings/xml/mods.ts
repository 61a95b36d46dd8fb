/** MODS 3.8. @see https://www.loc.gov/standards/mods/ */
import { holder, plain, text, unit, type XmlStructure } from './structure.ts'

export const mods: XmlStructure = {
  base: 'http://www.loc.gov/mods/v3',
  schema: 'http://www.loc.gov/standards/mods/v3/mods-3-8.xsd',
  prefix: '',
  list: 'modsCollection',
  root: holder(
    'mods',
    [
      unit('titleInfo', [plain('title'), plain('subTitle'), plain('partNumber'), plain('partName')], {
        language: 'unit',
      }),
      unit('name', [plain('namePart'), holder('role', [plain('roleTerm', { attributes: { type: 'text' } })])]),
      plain('typeOfResource'),
      text('genre'),
      holder('originInfo', [
        unit('place', [text('placeTerm', { attributes: { type: 'text' } })]),
        text('publisher'),
        text('dateIssued'),
        text('dateCreated'),
        text('dateCaptured'),
        text('copyrightDate'),
        text('edition'),
      ]),
      unit('language', [plain('languageTerm', { attributes: { type: 'text' } })]),
      holder('physicalDescription', [text('form'), plain('internetMediaType'), text('extent'), text('note')]),
      text('abstract'),
      text('tableOfContents'),
      text('targetAudience'),
      text('note'),
      unit(
        'subject',
        [plain('topic'), plain('geographic'), plain('temporal'), holder('name', [plain('namePart')]), plain('genre')],
        { language: 'unit' },
      ),
      plain('classification'),
      unit('relatedItem', [holder('titleInfo', [text('title')]), plain('identifier')], {
        groups: { host: {}, series: {}, original: {}, preceding: {}, succeeding: {}, constituent: {} },
        groupAttribute: 'type',
      }),
      plain('identifier'),
      holder('location', [text('physicalLocation'), text('shelfLocator'), plain('url', { kind: 'address' })]),
      text('accessCondition'),
      holder('recordInfo', [
        text('recordContentSource'),
        plain('recordCreationDate', { attributes: { encoding: 'iso8601' } }),
        plain('recordChangeDate', { attributes: { encoding: 'iso8601' } }),
        plain('recordIdentifier'),
      ]),
    ],
    { attributes: { version: '3.8' } },
  ),
}
