import re
cut="""IRAS ComptonObservatory SwiftObservatory NuSTAR XRISM Clementine VenusExpress MarsGlobalSurveyor Danuri GRAIL MAVEN
Pioneer11 LucyMission Vega1 Viking2 Mars3 Ranger7 MercuryRedstone AtlasLV3B NewGlenn BlueOrigin Cygnus ULA RocketLab Electron Mahia STScI
JunoI HTV Telstar1 Tianhe Soyuz1 VladimirKomarov DeepSpace1 MarsOdyssey TraceGasOrbiter Lunokhod2 SDO CHEOPS Uhuru XMMNewton RomanTelescope NancyRoman
STS31 Landsat1 BillShepherd DekeSlayton TomStafford FredHaise JackSwigert BobBehnken PeteConrad GusGrissom Gaspra Dinkinesh
StoryMusgrave Iapetus Ida LaserCommunication SyntheticApertureRadar""".split()
cs=set(cut)
for n in ('1','2','3','4'):
    p=f'.p0{n}.ttl'; t=open(p).read()
    blocks=re.split(r'\n\n',t)
    out=[]
    for b in blocks:
        m=re.match(r'ex:(\w+) a ',b.strip())
        if m and m.group(1) in cs: continue
        if m:
            for c in cut:
                r=rf'ex:{c}\b'
                b=re.sub(rf' , {r}','',b)
                b=re.sub(rf'{r} , ','',b)
                b=re.sub(rf' ?s:\w+ {r} ;','',b)
        b='\n'.join(l for l in b.split('\n') if l.strip())
        out.append(b)
    t='\n\n'.join(out).rstrip('\n')+'\n'
    for c in cut:
        if re.search(rf'ex:{c}\b',t): print(p,c,[l[:160] for l in t.split('\n') if re.search(rf'ex:{c}\b',l)])
    open(p,'w').write(t)
